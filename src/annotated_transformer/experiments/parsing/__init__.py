"""English constituency parsing (section 6.3): what chapter 14 does beside the model itself."""

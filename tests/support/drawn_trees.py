"""Constituency trees for property tests."""

from hypothesis import strategies as st

from annotated_transformer.data.trees import Tree

LABELS = st.sampled_from(["S", "NP", "VP", "PP", "ADVP"])
TAGS = st.builds(lambda tag: Tree(tag, ("w",)), st.sampled_from(["NN", "VB", "."]))
TREES = st.recursive(
    st.builds(lambda label, tag: Tree(label, (tag,)), LABELS, TAGS),
    lambda inner: st.builds(
        lambda label, parts: Tree(label, tuple(parts)),
        LABELS,
        st.lists(st.one_of(inner, TAGS), min_size=1, max_size=5),
    ),
    max_leaves=12,
)

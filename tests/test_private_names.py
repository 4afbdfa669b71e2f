"""Names of PyTorch that are not promised: an upgrade that takes one away fails with this list."""

import importlib

import pytest

PRIVATE = {
    "torch.cpu._is_avx512_bf16_supported": "training/devices.py: bf16 where it pays",
    "torch.cpu._is_amx_tile_supported": "training/devices.py: bf16 where it pays",
    "torch._C.DisableTorchFunctionSubclass": "exercises/grader/values.py: every check",
    "torch._C.DisableTorchFunction": "exercises/grader/values.py: every check",
    "torch.ops.aten._softmax_backward_data": "fast/packing.py: training in bf16 on a CPU",
    "torch.ops.aten._addmm_activation": "fast/fused_relu.py: training on a GPU",
    "torch._inductor.list_options": "fast/compiling.py: train --compile",
    "torch.utils._python_dispatch.TorchDispatchMode": "benchmark/dispatch.py: all counting",
    "torch.utils._pytree.tree_leaves": "benchmark/dispatch.py: all counting",
}


@pytest.mark.parametrize("name", PRIVATE)
def test_it_is_still_there(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    while True:
        try:
            found = importlib.import_module(module)
            break
        except ModuleNotFoundError:  # as torch.ops.aten, which is an attribute
            module, _, before = module.rpartition(".")
            attribute = f"{before}.{attribute}"
    for part in attribute.split("."):
        assert hasattr(found, part), PRIVATE[name]
        found = getattr(found, part)

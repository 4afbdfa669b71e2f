"""The names that PyTorch has and the stand-in lacks.

Who writes `torch.trill` is told what PyTorch says, that there is no such name. Who writes one of
these is told that it is not in this page. A test compares the lists with PyTorch.
"""

import sys
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from typing import Any

from .errors import NotInThisPage


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


def attribute_of(module: str, missing: frozenset[str]) -> Callable[[str], Any]:
    """A module's `__getattr__`: asked for a name that the module has not."""

    def get(name: str) -> Any:
        if name in missing:
            raise NotInThisPage(f"{module}.{name}")
        raise AttributeError(f"module '{module}' has no attribute '{name}'")

    return get


_PACKAGES = {"nn", "autograd", "optim", "utils", "cuda", "backends"}


def of_class(cls: type, name: str, what: str, missing: frozenset[str]) -> Exception:
    """For who asks a class for a method that it has not, such as `Tensor.quantile`."""
    if name in missing | OF_LAYERS.get(cls.__name__, frozenset()):
        raise NotInThisPage(f"{what}.{name}")
    return AttributeError(f"type object '{cls.__name__}' has no attribute '{name}'")


def when_used(module: str, names: str) -> dict[str, type]:
    """Classes that can be imported, and that say so when one of them is to do its work."""
    return {name: _when_used(f"{module}.{name}") for name in names.split()}


def _when_used(what: str) -> type:
    def refuse(*_args: Any, **_kwargs: Any) -> Any:
        raise NotInThisPage(what)

    name = what.rpartition(".")[2]
    return type(name, (), {"__new__": refuse, "__init_subclass__": classmethod(refuse)})


def anything_of(module: str) -> Callable[[str], Any]:
    """A module's `__getattr__`, where its names are too many to be listed."""

    def get(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        raise NotInThisPage(f"{module}.{name}")

    return get


class _MissingModules(MetaPathFinder):
    """Asked for a module of PyTorch's that nobody has found, such as `torch.utils.data`."""

    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        package, _, name = fullname.partition(f"{self.package}.")
        if not package and name.partition(".")[0] in OF_TORCH | _PACKAGES:
            raise NotInThisPage(f"torch.{name}")


sys.meta_path.append(_MissingModules(__name__.rpartition(".")[0]))


OF_TORCH = _names(
    """
    are_deterministic_algorithms_enabled AVG AcceleratorError AggregationType AliasDb AnyType
    Argument ArgumentSpec AwaitType BFloat16Storage BenchmarkConfig BenchmarkExecutionStats Block
    BoolStorage BoolType BufferDict ByteStorage CallStack Capsule CharStorage ClassType Code
    CompilationUnit CompleteArgumentSpec ComplexDoubleStorage ComplexFloatStorage ComplexType
    ConcreteModuleType ConcreteModuleTypeBuilder DeepCopyMemoTable DeserializationStorageContext
    DeviceObjType DictType DisableTorchFunction DisableTorchFunctionSubclass DispatchKey
    DispatchKeySet DoubleStorage EnumType ErrorReport Event ExcludeDispatchKeyGuard ExecutionPlan
    FatalError FileCheck FloatStorage FloatType FunctionSchema Future FutureType GradScaler
    Gradient Graph GraphExecutorState HalfStorage IODescriptor InferredType IntStorage IntType
    InterfaceType JITException ListType LiteScriptModule LockingLogger LoggerBase LongStorage
    ModuleDict Node NoneType NoopLogger NumberType OperatorInfo OptionalType OutOfMemoryError
    PRIVATE_OPS ParameterDict PyObjectType PyTorchFileReader PyTorchFileWriter QInt32Storage
    QInt8Storage QUInt2x4Storage QUInt4x2Storage QUInt8Storage RRefType SUM ScriptClass
    ScriptClassFunction ScriptDict ScriptDictIterator ScriptDictKeyIterator ScriptFunction
    ScriptList ScriptListIterator ScriptMethod ScriptModule ScriptModuleSerializer ScriptObject
    ScriptObjectProperty SerializationStorageContext ShortStorage StaticModule Storage StorageBase
    Stream StreamObjType StringType SymBool SymBoolType SymFloat SymInt SymIntType Tag TensorType
    ThroughputBenchmark TracingState TupleType Type TypedStorage USE_GLOBAL_DEPS
    USE_RTLD_GLOBAL_WITH_LIBTORCH UnionType UntypedStorage Use Value accelerator acos_ acosh
    acosh_ adaptive_avg_pool1d adaptive_max_pool1d addbmm addmv_ addr adjoint
    affine_grid_generator alias_copy alpha_dropout alpha_dropout_ amp angle ao arccos arccos_
    arccosh arccosh_ arcsin arcsin_ arcsinh arcsinh_ arctan arctan2 arctan_ arctanh arctanh_
    as_strided as_strided_ as_strided_copy as_strided_scatter asin_ asinh asinh_ atan_ atanh
    atanh_ atleast_3d autocast_decrement_nesting autocast_increment_nesting avg_pool1d
    bartlett_window batch_norm batch_norm_backward_elemt batch_norm_backward_reduce
    batch_norm_elemt batch_norm_gather_stats batch_norm_gather_stats_with_counts batch_norm_stats
    batch_norm_update_stats bcomplex32 bilinear binary_cross_entropy_with_logits binomial bit
    bits16 bits1x8 bits2x4 bits4x2 bits8 blackman_window bucketize can_cast ccol_indices_copy
    ceil_ celu celu_
    chain_matmul chalf channel_shuffle channels_last channels_last_3d cholesky cholesky_inverse
    cholesky_solve choose_qparams_optimized clamp_ clamp_max_ clamp_min_ classes classproperty
    clear_autocast_cache clip_ col_indices_copy combinations compiled_with_cxx11_abi compiler
    complex32 cond conj_physical conj_physical_ constant_pad_nd conv1d conv2d conv3d conv_tbc
    conv_transpose1d conv_transpose2d conv_transpose3d convolution copysign corrcoef cosh_
    cosine_embedding_loss cosine_similarity cov cpp cpu crow_indices_copy ctc_loss
    cudnn_affine_grid_generator cudnn_batch_norm cudnn_convolution cudnn_convolution_add_relu
    cudnn_convolution_relu cudnn_convolution_transpose cudnn_grid_sampler cudnn_is_acceptable
    cumulative_trapezoid deg2rad_ dequantize det detach_ detach_copy diagonal_copy
    diagonal_scatter digamma distributed distributions dropout_ dsmm dsplit eig embedding
    embedding_bag embedding_renorm_ empty_permuted empty_quantized empty_strided erf_ erfc erfc_
    erfinv exp2_ expand_copy expm1_ export fake_quantize_per_channel_affine
    fake_quantize_per_tensor_affine fbgemm_linear_fp16_weight
    fbgemm_linear_fp16_weight_fp32_activation fbgemm_linear_int8_weight
    fbgemm_linear_int8_weight_fp32_activation fbgemm_linear_quantize_weight
    fbgemm_pack_gemm_matrix_fp16 fbgemm_pack_quantized_matrix feature_alpha_dropout
    feature_alpha_dropout_ feature_dropout feature_dropout_ fft fill fill_ fix fix_
    float4_e2m1fn_x2 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu
    float_power floor_ fmax fmin fork frac_ frexp frobenius_norm from_dlpack from_file frombuffer
    functional functools fused_moving_avg_obs_fake_quant futures fx gcd gcd_ geqrf
    get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype get_autocast_ipu_dtype
    get_autocast_xla_dtype get_deterministic_debug_mode get_device get_device_module get_file_path
    get_num_interop_threads gradient grid_sampler grid_sampler_2d grid_sampler_3d group_norm gru
    gru_cell hamming_window hann_window hardshrink has_lapack has_mkl has_openmp has_spectral
    hash_tensor heaviside hinge_embedding_loss histc histogram histogramdd hsmm hsplit hspmm hub
    i0 i0_ igamma igammac import_ir_module import_ir_module_from_buffer index_put index_put_
    index_reduce indices_copy init_num_threads instance_norm int1 int2 int3 int4 int5 int6 int7
    int_repr is_anomaly_check_nan_enabled is_anomaly_enabled is_autocast_cache_enabled
    is_autocast_cpu_enabled is_autocast_enabled is_autocast_ipu_enabled is_autocast_xla_enabled
    is_conj is_deterministic_algorithms_warn_only_enabled is_distributed is_inference
    is_inference_mode_enabled is_neg is_nonzero is_same_size is_signed is_storage
    is_vulkan_available is_warn_always_enabled isreal istft jagged jit kaiser_window kl_div
    layer_norm layout lcm lcm_ ldexp ldexp_ legacy_contiguous_format lgamma library load lobpcg
    log10_ log1p_ log2_ logaddexp2 logdet logit logit_ lstm lstm_cell lstsq lu lu_solve lu_unpack
    margin_ranking_loss masked matrix_rank max_pool1d max_pool1d_with_indices max_pool2d
    max_pool3d memory_format merge_type_from_type_comment miopen_batch_norm miopen_convolution
    miopen_convolution_add_relu miopen_convolution_relu miopen_convolution_transpose
    miopen_ctc_loss miopen_depthwise_convolution miopen_rnn mkldnn_adaptive_avg_pool2d
    mkldnn_convolution mkldnn_linear_backward_weights mkldnn_max_pool2d mkldnn_max_pool3d
    mkldnn_rnn_layer mode monitor mps msort mtia multinomial multiprocessing mvlgamma nan_to_num_
    nanmean nanmedian nanquantile narrow_copy native_batch_norm native_channel_shuffle
    native_dropout native_group_norm native_layer_norm native_norm negative_ nested nextafter
    nonzero_static norm_except_dim nuclear_norm ops orgqr ormqr package pairwise_distance parse_ir
    parse_schema parse_type_comment pca_lowrank pdist per_channel_affine
    per_channel_affine_float_qparams per_channel_symmetric per_tensor_affine per_tensor_symmetric
    permute_copy pinverse pixel_shuffle pixel_unshuffle poisson poisson_nll_loss polygamma prelu
    prepare_multiprocessing_environment profiler profiler_allow_cudagraph_cupti_lazy_reinit_cuda12
    put q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point
    qint32 qint8 qr qscheme quantile quantization quantize_per_channel quantize_per_tensor
    quantize_per_tensor_dynamic quantized_batch_norm quantized_gru quantized_gru_cell
    quantized_lstm quantized_lstm_cell quantized_max_pool1d quantized_max_pool2d
    quantized_max_pool3d quantized_rnn_relu_cell quantized_rnn_tanh_cell quasirandom quint2x4
    quint4x2 quint8 rad2deg_ range reciprocal_ renorm resize_as_ resize_as_sparse_ resolve_conj
    resolve_neg return_types rms_norm rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell round_
    row_indices_copy row_stack rrelu rrelu_ rsqrt_ saddmm save scalar_tensor scatter_reduce
    searchsorted segment_reduce select_copy select_scatter selu selu_ serialization
    set_anomaly_enabled set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled
    set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype set_autocast_ipu_dtype
    set_autocast_ipu_enabled set_autocast_xla_dtype set_autocast_xla_enabled set_default_device
    set_default_tensor_type set_deterministic_debug_mode set_flush_denormal
    set_num_interop_threads set_warn_always signal sinc sinc_ sinh_ slice_copy slice_inverse
    slice_scatter slogdet smm solve sparse sparse_bsc sparse_bsc_tensor sparse_bsr
    sparse_bsr_tensor sparse_compressed_tensor sparse_coo sparse_coo_tensor sparse_csc
    sparse_csc_tensor sparse_csr sparse_csr_tensor split_copy split_with_sizes
    split_with_sizes_copy spmm squeeze_copy sspaddmm stft storage svd svd_lowrank
    sym_constrain_range sym_constrain_range_for_size sym_float sym_fresh_size sym_int sym_ite
    sym_max sym_min sym_not sym_sqrt sym_sum symeig t_copy tan_ thread_safe_generator threshold
    threshold_ to_dlpack torch torch_version transpose_copy trapezoid trapz triangular_solve
    triplet_margin_loss trunc_ typename types uint1 uint16 uint2 uint3 uint32 uint4 uint5 uint6
    uint64 uint7 unbind_copy unfold_copy unify_type_list unique_consecutive unravel_index
    unsafe_chunk unsafe_split unsafe_split_with_sizes unsqueeze_copy values_copy vander version
    view_as_complex_copy view_as_real_copy view_copy vsplit wait while_loop windows xlogy_ xpu
    zero_
    """
)
OF_FUNCTIONAL = _names(
    """
    BroadcastingList1 BroadcastingList2 BroadcastingList3 DType GRID_SAMPLE_INTERPOLATION_MODES
    GRID_SAMPLE_PADDING_MODES ScalingType SwizzleType adaptive_avg_pool1d adaptive_avg_pool2d
    adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool1d_with_indices adaptive_max_pool2d
    adaptive_max_pool2d_with_indices adaptive_max_pool3d adaptive_max_pool3d_with_indices
    affine_grid alpha_dropout assert_int_or_pair avg_pool1d avg_pool2d avg_pool3d batch_norm
    bilinear boolean_dispatch celu celu_ channel_shuffle conv1d conv2d conv3d conv_tbc
    conv_transpose1d conv_transpose2d conv_transpose3d cosine_embedding_loss ctc_loss dataclasses
    dropout1d dropout2d dropout3d elu_ embedding_bag feature_alpha_dropout fold
    fractional_max_pool2d fractional_max_pool2d_with_indices fractional_max_pool3d
    fractional_max_pool3d_with_indices gaussian_nll_loss grad grid_sample group_norm grouped_mm
    gumbel_softmax handle_torch_function hardshrink hardtanh_ has_torch_function
    has_torch_function_unary has_torch_function_variadic hinge_embedding_loss huber_loss
    instance_norm interpolate leaky_relu_ linear_cross_entropy local_response_norm lp_pool1d
    lp_pool2d lp_pool3d margin_ranking_loss max_pool1d max_pool1d_with_indices max_pool2d
    max_pool2d_with_indices max_pool3d max_pool3d_with_indices max_unpool1d max_unpool2d
    max_unpool3d multi_head_attention_forward multi_margin_loss multilabel_margin_loss
    multilabel_soft_margin_loss native_channel_shuffle pairwise_distance pdist pixel_shuffle
    pixel_unshuffle poisson_nll_loss prelu relu_ reproducibility_notes rrelu rrelu_
    scaled_grouped_mm scaled_mm selu_ smooth_l1_loss soft_margin_loss softshrink
    sparse_support_notes tanhshrink tf32_notes threshold threshold_ torch triplet_margin_loss
    triplet_margin_with_distance_loss unfold upsample upsample_bilinear upsample_nearest
    """
)
OF_NN = _names(
    """
    AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveLogSoftmaxWithLoss
    AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d AlphaDropout AvgPool1d AvgPool2d
    AvgPool3d BCELoss BCEWithLogitsLoss BatchNorm1d BatchNorm2d BatchNorm3d Bilinear Buffer CELU
    CTCLoss ChannelShuffle CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d
    ConstantPad3d Container Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d
    CosineEmbeddingLoss CosineSimilarity CrossMapLRN2d DataParallel Dropout1d Dropout2d Dropout3d
    ELU EmbeddingBag FeatureAlphaDropout Fold FractionalMaxPool2d FractionalMaxPool3d GLU GRU
    GRUCell GaussianNLLLoss GroupNorm Hardshrink Hardsigmoid Hardswish Hardtanh HingeEmbeddingLoss
    HuberLoss InstanceNorm1d InstanceNorm2d InstanceNorm3d LPPool1d LPPool2d LPPool3d LSTM
    LSTMCell LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyConv1d LazyConv2d LazyConv3d
    LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d LazyInstanceNorm1d
    LazyInstanceNorm2d LazyInstanceNorm3d LazyLinear LinearCrossEntropyLoss
    LinearCrossEntropyOptions LocalResponseNorm LogSigmoid MarginRankingLoss MaxPool1d MaxPool2d
    MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d Mish MultiLabelMarginLoss
    MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss2d PReLU PairwiseDistance ParameterDict
    ParameterList PixelShuffle PixelUnshuffle PoissonNLLLoss RNN RNNBase RNNCell RNNCellBase RReLU
    ReLU6 ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d
    ReplicationPad3d SELU SmoothL1Loss SoftMarginLoss Softmax2d Softmin Softplus Softshrink
    Softsign SyncBatchNorm Tanhshrink Threshold Transformer TransformerDecoder
    TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer TripletMarginLoss
    TripletMarginWithDistanceLoss Unflatten Unfold UninitializedBuffer UninitializedParameter
    Upsample UpsamplingBilinear2d UpsamplingNearest2d ZeroPad1d ZeroPad2d ZeroPad3d common_types
    factory_kwargs grad intrinsic modules parallel qat quantizable quantized
    """
)
OF_INIT = _names(
    """
    ParamSpec calculate_gain constant dirac dirac_ eye eye_ kaiming_normal kaiming_normal_
    kaiming_uniform kaiming_uniform_ normal orthogonal orthogonal_ sparse sparse_ torch
    trunc_normal_ uniform xavier_normal xavier_uniform
    """
)
OF_NN_UTILS = _names(
    """
    clip_grad clip_grad_norm clip_grad_value_ clip_grads_with_norm_
    convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format convert_parameters
    fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights fusion
    get_total_norm init memory_format parameters_to_vector parametrizations parametrize
    remove_spectral_norm remove_weight_norm skip_init spectral_norm stateless vector_to_parameters
    weight_norm
    """
)
OF_RNN = _names(
    """
    PackedSequence PackedSequence_ bind copy_method_params invert_permutation pack_padded_sequence
    pack_sequence pad_packed_sequence torch unpack_sequence unpad_sequence
    """
)
OF_LINALG = _names(
    """
    LinAlgError cholesky cholesky_ex common_notes cond cross eig eigh eigvals eigvalsh
    householder_product inv_ex ldl_factor ldl_factor_ex ldl_solve lu lu_factor lu_factor_ex
    lu_solve matrix_sqrth polar qr slogdet solve_ex solve_triangular svd svdvals tensorinv
    tensorsolve vander
    """
)
OF_SPECIAL = _names(
    """
    airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 chebyshev_polynomial_t chebyshev_polynomial_u
    chebyshev_polynomial_v chebyshev_polynomial_w common_args digamma erfc erfcx erfinv gammainc
    gammaincc gammaln hermite_polynomial_h hermite_polynomial_he i0 i0e i1 i1e
    laguerre_polynomial_l legendre_polynomial_p log_ndtr logit modified_bessel_i0
    modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 multi_dim_common multigammaln ndtr
    ndtri polygamma psi round scaled_modified_bessel_k0 scaled_modified_bessel_k1
    shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v
    shifted_chebyshev_polynomial_w sinc spherical_bessel_j0 torch xlog1py zeta
    """
)
OF_AUTOGRAD = _names(
    """
    DeviceType Mapping NestedIOFunction ProfilerActivity ProfilerConfig ProfilerEvent
    ProfilerState SavedTensor anomaly_mode enforce_grad_layout_policy forward_ad grad_mode
    gradcheck gradgradcheck graph handle_torch_function has_torch_function inference_mode
    is_multithreading_enabled is_tensor_like is_view_replay_enabled kineto_available profiler
    profiler_legacy profiler_util set_multithreading_enabled torch variable
    """
)
OF_AUTOGRAD_FUNCTIONAL = _names(
    """
    fwAD hessian hvp jvp torch vhp
    """
)
OF_FUNC = _names(
    """
    debug_unwrap functional_call functionalize grad_and_value hessian jvp linearize rearrange
    replace_all_batch_norm_modules_ stack_module_state vjp
    """
)
OF_TESTING = _names(
    """
    FileCheck assert_allclose make_tensor
    """
)
OF_TENSOR = _names(
    """
    H absolute_ acos_ acosh acosh_ addbmm addbmm_ addmv_ addr addr_ adjoint angle apply_ arccos
    arccos_ arccosh arccosh_ arcsin arcsin_ arcsinh arcsinh_ arctan arctan2 arctan2_ arctan_
    arctanh arctanh_ as_strided as_strided_ as_strided_scatter as_subclass asin_ asinh asinh_
    atan2_ atan_ atanh atanh_ bitwise_left_shift_ bitwise_right_shift_ cauchy_ ccol_indices chalf
    cholesky cholesky_inverse cholesky_solve coalesce col_indices conj_physical conj_physical_
    const_data_ptr copysign copysign_ corrcoef cosh_ cov crow_indices cuda deg2rad_ dense_dim
    dequantize det diagonal_scatter digamma digamma_ dim_order divide_ dsplit eig erfc erfc_
    erfinv erfinv_ exponential_ fix fix_ float_power float_power_ fmax fmin fmod_ frac_ frexp gcd
    gcd_ geometric_ geqrf get_device grad_dtype greater_ greater_equal_ hardshrink hash_tensor
    heaviside heaviside_ histc histogram hsplit hypot_ i0 i0_ igamma igamma_ igammac igammac_
    index index_put index_reduce index_reduce_ indices int_repr ipu is_coalesced is_conj is_cpu
    is_distributed is_inference is_ipu is_maia is_mkldnn is_mps is_mtia is_neg is_nested
    is_nonzero is_pinned is_quantized is_same_size is_set_to is_shared is_signed is_sparse_csr
    is_vulkan is_xla is_xpu isreal istft lcm lcm_ ldexp ldexp_ less_ less_equal_ lgamma lgamma_
    log_normal_ logaddexp2 logdet logit logit_ lstsq lu lu_solve mH map2_ map_ mode module_load
    msort mtia multinomial multiply_ mvlgamma mvlgamma_ name nanmean nanmedian nanquantile
    narrow_copy negative_ new new_empty_strided nextafter nextafter_ nonzero_static not_equal_
    orgqr ormqr output_nr pin_memory pinverse polygamma polygamma_ prelu put put_
    q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point qr
    qscheme quantile rad2deg_ record_stream register_hook register_post_accumulate_grad_hook
    reinforce renorm renorm_ resize resize_ resize_as resize_as_ resize_as_sparse_ retains_grad
    row_indices scatter_reduce scatter_reduce_ select_scatter set_ sgn_ share_memory_ sinc sinc_
    sinh_ slice_inverse slice_scatter slogdet smm solve sparse_dim sparse_mask sparse_resize_
    sparse_resize_and_clear_ split_with_sizes sspaddmm stft storage storage_offset storage_type
    subtract_ sum_to_size svd swapaxes_ swapdims_ symeig to_dense to_mkldnn to_padded_tensor
    to_sparse to_sparse_bsc to_sparse_bsr to_sparse_coo to_sparse_csc to_sparse_csr
    triangular_solve unique_consecutive unsafe_chunk unsafe_split unsafe_split_with_sizes
    untyped_storage values volatile vsplit xlogy_ xpu
    """
)
OF_MODULE = _names(
    """
    T_destination bfloat16 call_super_init compile cuda dump_patches forward get_buffer
    get_extra_state half ipu mtia register_backward_hook register_forward_pre_hook
    register_full_backward_hook register_full_backward_pre_hook register_load_state_dict_post_hook
    register_load_state_dict_pre_hook register_state_dict_post_hook register_state_dict_pre_hook
    set_extra_state set_submodule share_memory to_empty type xpu
    """
)
OF_LAYERS: dict[str, frozenset[str]] = {
    "MultiheadAttention": _names(
        "add_zero_attn bias_k bias_v k_proj_weight kdim merge_masks q_proj_weight v_proj_weight "
        "vdim"
    )
}

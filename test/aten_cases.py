"""Small calls of every aten operator that has a kernel: what judge_aten.py runs in torch and in modeldoctor.

CASES: operator -> list of (arguments, keywords). Tensors among them become inputs of a program, the rest stays as it is.
Numbers come from one seed. Shapes are small and odd; every type that an operator takes is there once.
"""
import torch

GENERATOR = torch.Generator().manual_seed(7)
F32, F64, F16, BF16 = torch.float32, torch.float64, torch.float16, torch.bfloat16
FLOATS = (F32, F64, F16, BF16)
I64, I32, I8, U8, BOOL = torch.int64, torch.int32, torch.int8, torch.uint8, torch.bool
INTS = (I64, I32, I8, U8)
CASES = {}


def t(*shape, dtype=F32, low=-3.0, high=3.0):
    if dtype == BOOL:
        return torch.randint(0, 2, shape, generator=GENERATOR).bool()
    if not (dtype.is_floating_point or dtype.is_complex):
        return torch.randint(0 if dtype == U8 else -5, 6, shape, generator=GENERATOR).to(dtype)
    if dtype.is_complex:
        return torch.complex(t(*shape), t(*shape)).to(dtype)
    return (torch.rand(shape, generator=GENERATOR, dtype=F64) * (high - low) + low).to(dtype)


def index(limit, *shape, dtype=I64):
    return torch.randint(0, limit, shape, generator=GENERATOR).to(dtype)


def case(names, *calls):
    """One or more operators with the same calls; a call is a tuple of arguments, with a dict of keywords at its end or not."""
    for name in names.split():
        for call in calls:
            keywords = call[-1] if call and isinstance(call[-1], dict) else {}
            arguments = call[:-1] if keywords else call
            CASES.setdefault(name, []).append((tuple(a.clone() if isinstance(a, torch.Tensor) else a for a in arguments), keywords))


def aten(names):
    return " ".join("aten." + n for n in names.split())


def each_type(types, *shape, **limits):
    return [t(*shape, dtype=d, **limits) for d in types]


SPECIAL = torch.tensor([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, 3.5, float("inf"), float("-inf"), float("nan"), 1e30, -1e-30, 88.0, -104.0])

# One operand.
case(aten("exp.default exp2.default expm1.default sin.default cos.default tan.default sinh.default cosh.default tanh.default asinh.default "
          "atan.default sigmoid.default erf.default erfc.default sqrt.default rsqrt.default log.default log2.default log10.default log1p.default "
          "asin.default acos.default acosh.default atanh.default reciprocal.default"),
     *[(x,) for x in each_type(FLOATS, 3, 5)], (t(4, dtype=I32),), (t(4, dtype=BOOL),), (SPECIAL,))
case(aten("silu.default mish.default gelu.default floor.default ceil.default round.default trunc.default fix.default frac.default hardswish.default "
          "hardsigmoid.default log_sigmoid.default relu.default relu6.default hardtanh.default leaky_relu.default elu.default "
          "selu.default celu.default softplus.default hardshrink.default logit.default nan_to_num.default sign.default sgn.default abs.default neg.default "
          "square.default"),
     *[(x,) for x in each_type(FLOATS, 3, 5)], (SPECIAL[:13],))
case(aten("abs.default neg.default sign.default square.default relu.default floor.default round.default"), *[(t(7, dtype=d),) for d in (I64, I32, I8)])
case("aten.gelu.default", (t(9), {"approximate": "tanh"}))
case("aten.round.decimals", (t(9), {"decimals": 1}))
case("aten.leaky_relu.default", (t(9), 0.3))
case("aten.elu.default", (t(9), 0.7, 1.3, 0.8))
case("aten.celu.default", (t(9), 0.7))
case("aten.softplus.default", (t(9, low=-9, high=9), 2.0, 3.0))
case("aten.hardtanh.default", (t(9), -0.5, 1.5), (t(9, dtype=I64), -2, 2))
case("aten.nan_to_num.default", (SPECIAL, 1.0, 2.0, -3.0), (SPECIAL.to(F16),))
case("aten.hardshrink.default", (t(9), 1.0))
case("aten.logit.default", (t(9, low=0, high=1), 0.1))
case("aten.threshold.default", (t(9), 0.1, 20.0), (t(9, dtype=I64), 1, 4))
case(aten("isnan.default isinf.default isfinite.default signbit.default logical_not.default"), (SPECIAL,), (t(5, dtype=I32),), (t(3, dtype=F16),))
case("aten.logical_not.default", (t(5, dtype=BOOL),))
case("aten.bitwise_not.default", *[(t(5, dtype=d),) for d in (*INTS, BOOL)])
case(aten("neg_.default exp_.default tanh_.default relu_.default sigmoid_.default silu_.default hardtanh_.default leaky_relu_.default elu_.default "
          "hardswish_.default hardsigmoid_.default"), (t(3, 5),))
case(aten("clamp.default clamp_.default"), (t(9), -1.0, 1.5), (t(9), None, 0.5), (t(9), 0.5), (t(9, dtype=I64), -2, 3))
case("aten.clamp_min.default", (t(9), 0.25), (t(9, dtype=F16), 0.25))
case("aten.clamp_max.default", (t(9), 0.25), (t(9, dtype=BF16), 0.25))
case("aten.exp.default", (t(4, dtype=torch.complex64),))
case(aten("neg.default abs.default reciprocal.default square.default"), (t(4, dtype=torch.complex64),))

# Two operands.
PAIRS = [(t(2, 3, dtype=d), t(3, dtype=d)) for d in FLOATS]
MIXED = [(t(2, 1), t(3, dtype=F64)), (t(2, 3, dtype=F16), t(2, 1)), (t(2, 3, dtype=F16), t(3, dtype=BF16)), (t(2, 3), t(3, dtype=I64)),
         (t(2, 3, dtype=BF16), t(dtype=F32)), (t(2, 3, dtype=I32), t(dtype=F64))]
WHOLE = [(t(2, 3, dtype=d), t(3, dtype=d)) for d in (I64, I32, I8)] + [(t(2, 3, dtype=U8), t(3, dtype=I8)), (t(2, 3, dtype=I32), t(dtype=I64))]
case(aten("add.Tensor sub.Tensor mul.Tensor maximum.default minimum.default"), *PAIRS, *MIXED, *WHOLE)
case(aten("add.Tensor mul.Tensor maximum.default minimum.default"), (t(5, dtype=BOOL), t(5, dtype=BOOL)), (SPECIAL, SPECIAL.flip(0)))
case(aten("add.Tensor sub.Tensor"), (t(5), t(5), {"alpha": 2.5}), (t(5, dtype=I64), t(5, dtype=I64), {"alpha": 3}))
case(aten("add.Tensor sub.Tensor mul.Tensor div.Tensor"), (t(2, 3, dtype=torch.complex64), t(3, dtype=torch.complex64)))
case(aten("add_.Tensor sub_.Tensor mul_.Tensor div_.Tensor"), (t(2, 3), t(3)), (t(2, 3, dtype=F16), t(2, 3)))
case(aten("add.Scalar sub.Scalar mul.Scalar add_.Scalar sub_.Scalar mul_.Scalar"), (t(2, 3), 1.7), (t(2, 3, dtype=I64), 3), (t(2, 3, dtype=BF16), 0.1))
case(aten("rsub.Scalar"), (t(2, 3), 1.7), (t(2, 3, dtype=I64), 3), (t(2, 3), 1.0, 2.0))
case(aten("rsub.Tensor"), (t(2, 3), t(3)), (t(2, 3), t(3), {"alpha": 2.0}))
case(aten("div.Tensor true_divide.Tensor"), *PAIRS, *MIXED, (t(4, dtype=I64), t(4, dtype=I64) * 2 + 1), (SPECIAL, SPECIAL.flip(0)))
case(aten("div.Scalar div_.Scalar"), (t(2, 3), 1.7), (t(2, 3, dtype=F16), 3.0))
DIVISIONS = [(t(9), t(9)), (t(9, dtype=F16), t(9, dtype=F16)), (t(9, dtype=I64), t(9, dtype=I64) * 2 + 1)]
for mode in ("floor", "trunc", None):
    calls = DIVISIONS if mode else DIVISIONS[:2]
    case("aten.div.Tensor_mode", *[(*c, {"rounding_mode": mode}) for c in calls])
    case("aten.div_.Tensor_mode", (t(9), t(9), {"rounding_mode": mode}))
    case("aten.div.Scalar_mode", (t(9), 0.7, {"rounding_mode": mode}))
case(aten("floor_divide.default remainder.Tensor fmod.Tensor"), *DIVISIONS)
case(aten("floor_divide.Scalar remainder.Scalar fmod.Scalar"), (t(9), 0.7), (t(9, dtype=I64), 3), (t(9, dtype=I64), -3))
case(aten("max.other min.other"), (t(2, 3), t(3)), (t(2, 3, dtype=I64), t(3, dtype=I64)))
case(aten("atan2.default hypot.default copysign.Tensor"), (t(2, 3), t(3)), (t(2, 3, dtype=F64), t(3, dtype=F64)), (t(2, 3, dtype=F16), t(3, dtype=F16)))
case("aten.copysign.Scalar", (t(9), -1.0))
case("aten.pow.Tensor_Scalar", *[(t(9, low=0.1), e) for e in (2, 3, 0.5, -1, -2, -0.5, 2.5, 0)], (t(9, dtype=I64), 3), (t(9, dtype=F16), 2.0), (t(9), 3.0))
case("aten.pow.Tensor_Tensor", (t(9, low=0.1), t(9)), (t(9, dtype=I64), t(9, dtype=I64).abs()))
case("aten.pow.Scalar", (2.5, t(9)), (2, t(9, dtype=I64).abs()))
case(aten("addcmul.default addcdiv.default"), (t(2, 3), t(3), t(2, 1)), (t(2, 3), t(3), t(2, 1), {"value": 0.3}))
case("aten.lerp.Scalar", (t(2, 3), t(3), 0.3), (t(2, 3), t(3), 0.8))
case("aten.lerp.Tensor", (t(2, 3), t(3), t(2, 1, low=0, high=1)))
COMPARED = [*PAIRS[:3], *MIXED, *WHOLE, (t(5, dtype=BOOL), t(5, dtype=BOOL)), (SPECIAL, SPECIAL.flip(0))]
case(aten("eq.Tensor ne.Tensor lt.Tensor le.Tensor gt.Tensor ge.Tensor"), *COMPARED)
case(aten("eq.Scalar ne.Scalar lt.Scalar le.Scalar gt.Scalar ge.Scalar"), (torch.tensor([0.1, 0.2]), 0.1), (t(9, dtype=I64), 2), (t(9, dtype=I64), 1.5),
     (torch.tensor([0.1, 0.2]).to(F16), 0.1))
case(aten("logical_and.default logical_or.default logical_xor.default"), (t(9, dtype=BOOL), t(9, dtype=BOOL)), (t(9, dtype=I64), t(9)))
BITS = [(t(9, dtype=d), t(9, dtype=d)) for d in (*INTS, BOOL)]
case(aten("bitwise_and.Tensor bitwise_or.Tensor bitwise_xor.Tensor __and__.Tensor __or__.Tensor __xor__.Tensor"), *BITS)
case(aten("bitwise_and.Scalar bitwise_or.Scalar bitwise_xor.Scalar __and__.Scalar __or__.Scalar __xor__.Scalar"), (t(9, dtype=I64), 6), (t(9, dtype=BOOL), True))
case(aten("__lshift__.Tensor __rshift__.Tensor bitwise_left_shift.Tensor bitwise_right_shift.Tensor"), (t(9, dtype=I64), index(5, 9)), (t(9, dtype=I32), index(5, 9, dtype=I32)))
case(aten("__lshift__.Scalar __rshift__.Scalar bitwise_left_shift.Tensor_Scalar bitwise_right_shift.Tensor_Scalar"), (t(9, dtype=I64), 2))

# Choices and casts.
case("aten.where.self", (t(2, 3, dtype=BOOL), t(3), t(2, 1)), (t(3, dtype=BOOL), t(3, dtype=F16), t(3)), (t(3, dtype=BOOL), t(3, dtype=I64), t(3, dtype=I64)),
     (t(3, dtype=BOOL), t(3, dtype=torch.complex64), t(3, dtype=torch.complex64)))
case("aten.where.ScalarOther", (t(2, 3, dtype=BOOL), t(3), -1e9))
case("aten.where.ScalarSelf", (t(2, 3, dtype=BOOL), 2.0, t(3)))
case("aten.where.Scalar", (t(2, 3, dtype=BOOL), 2.0, 1.0))
case(aten("masked_fill.Scalar masked_fill_.Scalar"), (t(2, 3), t(3, dtype=BOOL), -1e9), (t(2, 3, dtype=I64), t(2, 3, dtype=BOOL), 7))
case(aten("masked_fill.Tensor masked_fill_.Tensor"), (t(2, 3), t(3, dtype=BOOL), t()))
case("aten.clamp.Tensor", (t(2, 3), t(3, high=0), t(2, 1, low=0)), (t(2, 3), None, t(3)))
case(aten("clamp_min.Tensor clamp_max.Tensor"), (t(2, 3), t(3)))
CASTS = [(F32, d) for d in (F64, F16, BF16, I64, I32, I8, BOOL)] + [(I64, F32), (I64, I8), (I64, BOOL), (BOOL, F32), (F64, F32), (F16, F32), (BF16, F32), (U8, F16)]
case("aten.to.dtype", *[(t(9, dtype=a, low=0 if b == U8 else -3), b) for a, b in CASTS])
case("aten._to_copy.default", *[(t(9, dtype=a), {"dtype": b}) for a, b in CASTS])
case("aten.to.dtype_layout", (t(9), {"dtype": F16}))
case("aten.to.device", (t(9), torch.device("cpu"), F64))
case(aten("type_as.default to.other"), (t(9), t(2, dtype=F16)), (t(9), t(2, dtype=I64)))
case(aten("copy.default copy_.default"), (t(2, 3), t(3)), (t(2, 3, dtype=F16), t(3)), (t(2, 3, dtype=I64), t(2, 3)))
case(aten("fill.Scalar fill_.Scalar"), (t(2, 3), 1.5), (t(2, 3, dtype=I64), 3))
case(aten("fill.Tensor fill_.Tensor"), (t(2, 3), t()))
case(aten("zero.default zero_.default"), (t(2, 3),))

# Reductions.
REDUCED = [(t(3, 4, 5, dtype=d),) for d in FLOATS]
case(aten("sum.default mean.default amax.default amin.default max.default min.default prod.default any.default all.default var.default std.default"), *REDUCED)
case(aten("sum.default prod.default max.default min.default any.default all.default amax.default"), (t(3, 4, dtype=I64),))
case(aten("sum.default any.default all.default"), (t(3, 4, dtype=BOOL),), (t(3, 4, dtype=I32),))
case("aten.sum.default", (t(3, dtype=torch.complex64),), (t(300, dtype=F16), {"dtype": F32}))
DIMS = [([1],), ([0, -1], True), ([-1], False)]
case(aten("sum.dim_IntList mean.dim var.dim amax.default amin.default logsumexp.default"), *[(t(3, 4, 5), *d) for d in DIMS[:1]], (t(3, 4, 5, dtype=F16), [0, 2]))
case(aten("sum.dim_IntList mean.dim amax.default amin.default logsumexp.default"), *[(t(3, 4, 5), *d) for d in DIMS])
case("aten.sum.dim_IntList", (t(3, 4, dtype=torch.complex64), [1]), (t(2, 700), [1]), (t(3, 4), None))
case(aten("var.dim std.dim var_mean.dim"), (t(3, 4, 5), [1], False, True), (t(3, 4, 5), [0, 2], True))
case(aten("var.correction std.correction var_mean.correction"), (t(3, 4, 5), [1], {"correction": 0, "keepdim": True}), (t(3, 4, 5), None, {"correction": 2}), (t(3, 4), [1]))
case("aten.var_mean.default", (t(3, 4), False))
case("aten.prod.dim_int", (t(3, 4), 1, True), (t(3, 4, dtype=I64), 0))
case(aten("any.dim all.dim"), (t(3, 4, dtype=BOOL), 1), (t(3, 4, dtype=I64), 0, True))
case(aten("any.dims all.dims"), (t(3, 4, 2, dtype=BOOL), [0, 1]))
case(aten("_is_all_true.default _is_any_true.default"), (t(3, 4, dtype=BOOL),))
case("aten.linalg_vector_norm.default", *[(t(3, 4, 5), o, [1]) for o in (2, 1, 3.5, float("inf"), float("-inf"), 0)], (t(3, 4),))
case("aten.norm.ScalarOpt_dim", (t(3, 4, 5), 2, [1], True), (t(3, 4, 5), 1, [0, 2]))
case("aten.norm.Scalar", (t(3, 4), 2))
case(aten("softmax.int log_softmax.int"), (t(3, 4, 5), -1), (t(3, 4, 5), 1), (t(3, 4, dtype=F16), 1, F32), (torch.full((2, 3), float("-inf")), 1))
case(aten("_softmax.default _log_softmax.default"), *[(t(3, 4, 5, dtype=d), 1, False) for d in FLOATS])
case(aten("cumsum.default cumprod.default"), (t(3, 4), 1), (t(3, 4, dtype=I64), 0), (t(3, 4, dtype=F16), -1))
case("aten.cumsum.default", (t(3, 4, dtype=torch.complex64), 1), (t(3, 4, dtype=BOOL), 1))
case(aten("max.dim min.dim"), (t(3, 4, 5), 1), (t(3, 4, dtype=I64), -1, True), (SPECIAL.reshape(3, 5), 1))
case(aten("argmax.default argmin.default"), (t(3, 4, 5), 1), (t(3, 4), None), (t(3, 4, dtype=I64), -1, True), (t(3, 4), None, True))
case("aten.sort.default", (t(3, 5), 1), (t(3, 5), 0, True), (SPECIAL,), (SPECIAL, 0, True))
case("aten.sort.stable", (t(3, 5, dtype=I64), {"stable": True, "dim": 1}))
case("aten.argsort.default", (t(3, 5), 1, True))
case("aten.argsort.stable", (t(3, 5, dtype=I64), {"stable": True, "dim": 1}))
case("aten.topk.default", (t(3, 7), 3), (t(7, 3), 2, 0, False))
case("aten.diff.default", (t(3, 7),), (t(3, 7), 2, 0), (t(3, 7, dtype=I64), 1), (t(3, 7, dtype=BOOL),))

# Products.
case("aten.mm.default", *[(t(3, 4, dtype=d), t(4, 5, dtype=d)) for d in (*FLOATS, I64, torch.complex64)])
case("aten.bmm.default", (t(2, 3, 4), t(2, 4, 5)), (t(2, 3, 4, dtype=F16), t(2, 4, 5, dtype=F16)))
case("aten.matmul.default", (t(4), t(4)), (t(3, 4), t(4)), (t(4), t(4, 3)), (t(2, 1, 3, 4), t(5, 4, 2)), (t(2, 3, 4), t(4, 5)), (t(2, 3, 4, dtype=torch.complex64), t(4, 5, dtype=torch.complex64)))
case("aten.mv.default", (t(3, 4), t(4)))
case("aten.dot.default", (t(9), t(9)), (t(9, dtype=I64), t(9, dtype=I64)))
case("aten.linear.default", (t(2, 3, 4), t(5, 4), t(5)), (t(4), t(5, 4)), (t(3, 4, dtype=BF16), t(5, 4, dtype=BF16), t(5, dtype=BF16)), (t(3, 4, dtype=F64), t(5, 4, dtype=F64)))
case("aten.addmm.default", (t(5), t(3, 4), t(4, 5)), (t(3, 1), t(3, 4), t(4, 5), {"alpha": 0.5, "beta": 2.0}))
case("aten.addmv.default", (t(3), t(3, 4), t(4)))
case("aten.baddbmm.default", (t(2, 3, 5), t(2, 3, 4), t(2, 4, 5)), (t(5), t(2, 3, 4), t(2, 4, 5), {"beta": 0.5}))
case("aten.einsum.default", ("bij,bjk->bik", [t(2, 3, 4), t(2, 4, 5)]), ("bhid,bhjd->bhij", [t(2, 2, 3, 4), t(2, 2, 5, 4)]), ("ij->ji", [t(3, 4)]), ("ij->i", [t(3, 4)]),
     ("i,j->ij", [t(3), t(4)]), ("ab,bc,cd->ad", [t(2, 3), t(3, 4), t(4, 5)]), ("ij,kj->i", [t(3, 4), t(2, 4)]))
case("aten.scaled_dot_product_attention.default", (t(2, 2, 3, 4), t(2, 2, 5, 4), t(2, 2, 5, 6)), (t(2, 2, 5, 4), t(2, 2, 5, 4), t(2, 2, 5, 4), None, 0.0, True),
     (t(2, 2, 3, 4), t(2, 2, 5, 4), t(2, 2, 5, 4), t(3, 5)), (t(2, 2, 3, 4), t(2, 2, 5, 4), t(2, 2, 5, 4), t(2, 1, 3, 5, dtype=BOOL)),
     (t(2, 4, 3, 4), t(2, 2, 5, 4), t(2, 2, 5, 4), {"enable_gqa": True}), (t(2, 3, 4), t(2, 5, 4), t(2, 5, 4), {"scale": 0.3}))
case("aten.conv1d.default", (t(2, 4, 9), t(6, 2, 3), t(6), [2], [1], [2], 2), (t(2, 4, 9), t(6, 4, 3)))
case("aten.conv1d.padding", (t(2, 4, 9), t(6, 4, 4), None, [1], "same"), (t(2, 4, 9), t(6, 4, 3), t(6), [2], "valid"))
case("aten.conv2d.default", (t(2, 4, 9, 7), t(6, 4, 3, 2), t(6), [2, 1], [1, 0]), (t(2, 4, 9, 7), t(8, 1, 3, 3), t(8), [1], [1], [1], 4), (t(2, 4, 5, 5), t(3, 4, 1, 1)), (t(4, 9, 7), t(6, 4, 3, 2)),
     (t(1, 4, 9, 9, dtype=F16), t(6, 4, 3, 3, dtype=F16)), (t(1, 4, 9, 9), t(4, 1, 3, 3), None, [2], [2], [2], 4))
case("aten.conv2d.padding", (t(2, 4, 9, 7), t(6, 4, 3, 2), t(6), [1, 1], "same", [2, 1]))
case("aten.conv3d.default", (t(1, 2, 5, 6, 7), t(3, 2, 2, 3, 2), t(3), [1, 2, 1], [1, 1, 0]))
case("aten.conv3d.padding", (t(1, 2, 5, 6, 7), t(3, 2, 3, 3, 3), t(3), [1], "same"))
case("aten.convolution.default", (t(2, 4, 9, 7), t(6, 2, 3, 2), t(6), [2, 1], [1, 0], [1, 2], False, [0, 0], 2), (t(2, 4, 5, 4), t(4, 3, 3, 2), t(6), [2, 1], [1, 0], [1, 1], True, [1, 0], 2))
case("aten.conv_transpose1d.default", (t(2, 4, 9), t(4, 3, 4), t(3), [2], [1], [1]))
case("aten.conv_transpose2d.input", (t(2, 4, 5, 6), t(4, 3, 3, 2), t(6), [2, 3], [1, 0], [1, 2], 2), (t(1, 2, 3, 3), t(2, 3, 3, 3), None, [1], [0], [0], 1, [2]))
case("aten.conv_transpose3d.input", (t(1, 2, 3, 4, 3), t(2, 3, 2, 2, 3), t(3), [2], [1]))

# Norms.
case("aten.batch_norm.default", (t(2, 3, 4), t(3), t(3), t(3), t(3, low=0.5), False, 0.1, 1e-5, True), (t(2, 3), None, None, t(3), t(3, low=0.5), False, 0.1, 1e-3, True))
case("aten._native_batch_norm_legit_no_training.default", (t(2, 3, 4, 4), t(3), t(3), t(3), t(3, low=0.5), 0.1, 1e-5))
case("aten.layer_norm.default", (t(2, 3, 4), [4], t(4), t(4)), (t(2, 3, 4), [3, 4]), (t(2, 3, 4, dtype=F16), [4], t(4, dtype=F16), t(4, dtype=F16)), (t(2, 3, 4, dtype=F64), [4]))
case("aten.native_layer_norm.default", (t(2, 3, 4), [4], t(4), t(4), 1e-5), (t(2, 3, 4), [3, 4], None, None, 1e-3))
case("aten.rms_norm.default", (t(2, 3, 4), [4], t(4), 1e-5), (t(2, 3, 4), [3, 4]), (t(2, 3, 4, dtype=F64), [4]), (t(2, 3, 8, dtype=F16, low=-0.01, high=0.01), [8]))
case("aten.group_norm.default", (t(2, 6, 4), 3, t(6), t(6)), (t(2, 6, 4, 2), 2))
case("aten.native_group_norm.default", (t(2, 6, 4), t(6), t(6), 2, 6, 4, 3, 1e-5))
case("aten.instance_norm.default", (t(2, 3, 4, 4), t(3), t(3), None, None, True, 0.1, 1e-5, True))

# Pools and other sizes.
case("aten.max_pool1d.default", (t(2, 3, 9), [3], [2], [1]))
case("aten.max_pool2d.default", (t(2, 3, 9, 8), [3, 2], [2], [1, 0], [2, 1]), (t(2, 3, 9, 8), [3], [2], [1], [1], True), (t(3, 9, 8), [2]))
case("aten.max_pool3d.default", (t(1, 2, 5, 6, 7), [2, 3, 2], [2], [1]))
case("aten.max_pool2d_with_indices.default", (t(2, 3, 9, 8), [3, 2], [2], [1, 0], [2, 1]))
case("aten.max_pool3d_with_indices.default", (t(1, 2, 5, 6, 7), [2, 3, 2], [2], [1]))
case("aten.avg_pool1d.default", (t(2, 3, 9), [3], [2], [1]))
case("aten.avg_pool2d.default", (t(2, 3, 9, 8), [3, 2], [2], [1, 0]), (t(2, 3, 9, 8), [3], [2], [1], True, False), (t(2, 3, 9, 8), [3], [2], [1], True), (t(2, 3, 9, 8), [2], [], [0], False, True, 3))
case("aten.avg_pool3d.default", (t(1, 2, 5, 6, 7), [2, 3, 2], [2], [1]))
case("aten.adaptive_avg_pool1d.default", (t(2, 3, 9), [4]))
case(aten("adaptive_avg_pool2d.default _adaptive_avg_pool2d.default"), (t(2, 3, 9, 8), [4, 3]), (t(2, 3, 9, 8), [1, 1]), (t(2, 3, 4, 5), [7, 7]))
case(aten("adaptive_avg_pool3d.default _adaptive_avg_pool3d.default"), (t(1, 2, 5, 6, 7), [2, 3, 4]))
case("aten.adaptive_max_pool2d.default", (t(2, 3, 9, 8), [4, 3]))
case("aten.upsample_nearest1d.default", (t(2, 3, 5), [8]))
case("aten.upsample_nearest1d.vec", (t(2, 3, 5), None, [1.7]))
case(aten("upsample_nearest2d.default _upsample_nearest_exact2d.default"), (t(2, 3, 5, 4), [8, 9]), (t(2, 3, 5, 4), [3, 3]))
case(aten("upsample_nearest2d.vec _upsample_nearest_exact2d.vec"), (t(2, 3, 5, 4), None, [1.7, 2.0]), (t(2, 3, 5, 4), [8, 9], None))
case("aten.upsample_nearest3d.default", (t(1, 2, 3, 4, 5), [5, 6, 7]))
case("aten.upsample_nearest3d.vec", (t(1, 2, 3, 4, 5), None, [1.5, 2.0, 1.3]))
case("aten.upsample_linear1d.default", (t(2, 3, 5), [8], False), (t(2, 3, 5), [8], True))
case("aten.upsample_linear1d.vec", (t(2, 3, 5), None, False, [1.7]))
case(aten("upsample_bilinear2d.default upsample_bicubic2d.default"), (t(2, 3, 5, 4), [8, 9], False), (t(2, 3, 5, 4), [8, 9], True), (t(2, 3, 5, 4), [3, 3], False))
case(aten("upsample_bilinear2d.vec upsample_bicubic2d.vec"), (t(2, 3, 5, 4), None, False, [1.7, 2.0]), (t(2, 3, 5, 4), [8, 9], True, None))
case("aten.upsample_trilinear3d.default", (t(1, 2, 3, 4, 5), [5, 6, 7], False))
case("aten.upsample_trilinear3d.vec", (t(1, 2, 3, 4, 5), None, True, [1.5, 2.0, 1.3]))
case(aten("grid_sampler.default grid_sampler_2d.default"), *[(t(2, 3, 5, 4), t(2, 6, 7, 2, low=-1.3, high=1.3), mode, padding, corners) for mode in (0, 1) for padding in (0, 1, 2) for corners in (True, False)],
     (t(2, 3, 5, 4), t(2, 6, 7, 2, low=-1.3, high=1.3), 2, 0, False))
case("aten.pixel_shuffle.default", (t(2, 8, 3, 4), 2))
case("aten.pixel_unshuffle.default", (t(2, 2, 6, 4), 2))

# Movement.
case(aten("clone.default contiguous.default detach.default detach_.default alias.default detach_copy.default alias_copy.default lift_fresh_copy.default"), (t(2, 3),), (t(2, dtype=BOOL),))
case("aten.dropout.default", (t(2, 3), 0.5, False))
case(aten("view.default view_copy.default _unsafe_view.default reshape.default"), (t(2, 3, 4), [6, -1]), (t(2, 3, dtype=I64), [3, 2]))
case("aten.view_as.default", (t(2, 6), t(3, 4)))
case("aten.flatten.using_ints", (t(2, 3, 4), 1), (t(2, 3, 4),), (t(),))
case("aten.unflatten.int", (t(2, 12), 1, [3, -1]))
case(aten("unsqueeze.default unsqueeze_copy.default"), (t(2, 3), 1), (t(2, 3), -1))
case("aten.squeeze.dim", (t(2, 1, 3), 1), (t(2, 3), 1))
case(aten("squeeze.dims squeeze_copy.dims"), (t(2, 1, 1), [1, -1]))
case("aten.squeeze.default", (t(2, 1, 3, 1),))
case(aten("slice.Tensor slice_copy.Tensor"), (t(9, 4), 0, 1, 8, 3), (t(3, 9), 1, -4), (t(3, 9), 1, 2, 100), (t(3, 9), 1, 5, 2))
case("aten.narrow.default", (t(3, 9), 1, 2, 4))
case(aten("select.int select_copy.int"), (t(3, 9), 1, -2))
case(aten("permute.default permute_copy.default"), (t(2, 3, 4), [2, 0, -2]))
case(aten("transpose.int transpose_copy.int swapaxes.default"), (t(2, 3, 4), 0, -1))
case("aten.movedim.int", (t(2, 3, 4), 0, 2))
case("aten.movedim.intlist", (t(2, 3, 4, 5), [0, 3], [2, 0]))
case("aten.t.default", (t(2, 3),), (t(3),))
case("aten.mT.default", (t(2, 3, 4),))
case("aten.numpy_T.default", (t(2, 3),))
case(aten("expand.default expand_copy.default"), (t(2, 1, 3), [4, 2, 5, -1]))
case("aten.expand_as.default", (t(2, 1), t(2, 3)))
case("aten.flip.default", (t(2, 3, 4), [0, -1]), (t(2, 3), []))
case("aten.repeat.default", (t(2, 3), [2, 1, 3]))
case("aten.tile.default", (t(2, 3, 2), [2, 3]))
case(aten("diagonal.default diagonal_copy.default"), (t(3, 4, 5), 1, 0, 2), (t(4, 4), -1))
case("aten.unfold.default", (t(3, 9), 1, 4, 2))
case("aten.slice_scatter.default", (t(9, 4), t(3, 4), 0, 1, 8, 3))
case("aten.select_scatter.default", (t(3, 4), t(3), 1, -2))
case(aten("cat.default concat.default"), ([t(2, 3), t(2, 1), t(2, 4)], 1), ([t(2, dtype=F16), t(3)],), ([t(2, dtype=I64), t(3)], 0))
case("aten.stack.default", ([t(2, 3), t(2, 3)], 1), ([t(2), t(2)], -1))
case(aten("split.Tensor split_copy.Tensor"), (t(7, 2), 3), (t(2, 6), 2, 1))
case(aten("split_with_sizes.default split_with_sizes_copy.default"), (t(7, 2), [3, 4]))
case("aten.chunk.default", (t(7, 2), 3))
case(aten("unbind.int unbind_copy.int"), (t(2, 3), 1))
case(aten("tril.default triu.default tril_.default triu_.default"), (t(2, 4, 5),), (t(4, 5), 1), (t(4, 5), -2))
case("aten.roll.default", (t(3, 5), [2], [1]), (t(3, 5), [1, -2], [0, 1]), (t(3, 5), [4]))
case("aten.repeat_interleave.self_int", (t(3, 2), 2, 0), (t(3, 2), 3))
case("aten.constant_pad_nd.default", (t(3, 5), [1, 2, 0, 1], 1.5), (t(3, 5), [-1, 2]), (t(3, 5, dtype=I64), [1, 1], 7))
case("aten.pad.default", (t(2, 3, 5), [1, 2], "reflect"), (t(2, 3, 5), [1, 2], "replicate"), (t(2, 3, 5), [1, 2], "circular"), (t(2, 3, 5), [1, 2], "constant", 2.0))
case("aten.reflection_pad1d.default", (t(2, 3, 5), [1, 2]))
case("aten.reflection_pad2d.default", (t(2, 3, 5, 4), [1, 2, 3, 0]))
case("aten.reflection_pad3d.default", (t(1, 2, 3, 5, 4), [1, 2, 3, 0, 1, 1]))
case("aten.replication_pad1d.default", (t(2, 3, 5), [1, 2]))
case("aten.replication_pad2d.default", (t(2, 3, 5, 4), [1, 2, 3, 0]))
case("aten.replication_pad3d.default", (t(1, 2, 3, 5, 4), [1, 2, 3, 0, 1, 1]))

# Indices.
case("aten.index.Tensor", (t(5, 4, 3), [index(5, 6)]), (t(5, 4, 3), [None, index(4, 2, 2)]), (t(5, 4, 3), [index(5, 6), None, index(3, 6)]), (t(5, 4), [index(5, 3, 1), index(4, 2)]), (t(4), [torch.tensor([-1, 0])]))
case("aten.index_select.default", (t(5, 4, 3), 1, index(4, 6)), (t(5, 4, dtype=I64), 0, index(5, 2, dtype=I32)))
case("aten.embedding.default", (t(7, 3), index(7, 2, 4)))
case("aten.gather.default", (t(5, 4), 0, index(5, 2, 3)), (t(5, 4, dtype=I64), 1, index(4, 5, 2)))
case(aten("scatter.src scatter_.src"), (t(5, 4), 0, torch.tensor([[0, 1, 2], [3, 4, 0]]), t(2, 3)))
case(aten("scatter.value scatter_.value"), (t(5, 4), 1, torch.tensor([[0], [1]]), 1.5))
case(aten("scatter_add.default scatter_add_.default"), (t(5, 4), 0, index(5, 3, 4), t(3, 4)), (t(5, 4, dtype=I64), 1, index(4, 5, 3), t(5, 3, dtype=I64)))
for word in ("sum", "prod", "amax", "amin", "mean"):
    case(aten("scatter_reduce.two scatter_reduce_.two"), (t(5, 4), 0, index(5, 6, 4), t(6, 4), word), (t(5, 4), 0, index(5, 6, 4), t(6, 4), word, {"include_self": False}))
case(aten("index_put.default index_put_.default"), (t(5, 4), [torch.tensor([1, 3])], t(4)), (t(5, 4), [index(5, 6)], t(6, 4), True), (t(5, 4), [None, torch.tensor([2, 0])], t(5, 2)), (t(2, 3), [torch.tensor([[True, False, True], [False, True, True]])], t(4)))
case(aten("index_add.default index_add_.default"), (t(5, 4), 0, index(5, 6), t(6, 4)), (t(5, 4), 1, index(4, 3), t(5, 3), {"alpha": 0.5}))
case(aten("index_copy.default index_copy_.default"), (t(5, 4), 0, torch.tensor([3, 1]), t(2, 4)))
case("aten.index_fill.int_Scalar", (t(5, 4), 1, index(4, 3), 2.5))
case("aten.index_fill.int_Tensor", (t(5, 4), 0, index(5, 3), t()))
case("aten.masked_scatter.default", (t(3, 4), t(3, 4, dtype=BOOL), t(12)))

# Tensors from numbers.
NEW = {"dtype": F32}
case("aten.zeros.default", ([2, 3], {"dtype": I64}))
case("aten.ones.default", ([2, 3], NEW))
case("aten.full.default", ([2, 3], 1.1, NEW), ([2], 3, {"dtype": I64}), ([2], True, {"dtype": BOOL}))
case("aten.scalar_tensor.default", (1.1, NEW))
case(aten("zeros_like.default ones_like.default"), (t(2, 3),), (t(2, 3, dtype=I64),))
case("aten.full_like.default", (t(2, 3, dtype=F16), 0.1), (t(2, 3, dtype=I64), 4))
case(aten("new_zeros.default new_ones.default"), (t(2, 3), [4]))
case("aten.new_full.default", (t(2, 3), [4], 0.3))
case("aten.arange.default", (5, {"dtype": I64}), (4.5, NEW))
case("aten.arange.start", (2, 7, {"dtype": I64}))
case("aten.arange.start_step", (0.5, 7.0, 0.3, NEW), (9, 2, -2, {"dtype": I64}))
case("aten.linspace.default", (-1.0, 2.0, 7, NEW), (3.0, 1.0, 1, NEW))
case("aten.eye.default", (3, NEW))
case("aten.eye.m", (3, 4, NEW))
case("aten.tril_indices.default", (4, 5, 1))
case("aten.triu_indices.default", (4, 5, -1))
case(aten("hann_window.default hamming_window.default blackman_window.default"), (9, NEW), (1, NEW))
case(aten("hann_window.periodic hamming_window.periodic blackman_window.periodic"), (9, False, NEW), (8, True, NEW))

# Complex numbers and spectra.
C64 = torch.complex64
case("aten.view_as_complex.default", (t(3, 2),))
case("aten.view_as_real.default", (t(3, dtype=C64),))
case(aten("complex.default polar.default"), (t(3, low=0), t(3)))
case(aten("real.default imag.default angle.default conj.default _conj.default conj_physical.default"), (t(2, 3, dtype=C64),))
case("aten._conj_physical.default", (t(2, 3, dtype=C64),))
case(aten("fft_rfft.default"), (t(2, 9),), (t(2, 9), 6, 1, "ortho"), (t(8, 2), None, 0))
case("aten.fft_irfft.default", (t(2, 5, dtype=C64),), (t(2, 5, dtype=C64), 9))
case(aten("fft_fft.default fft_ifft.default"), (t(2, 9, dtype=C64),), (t(2, 8, dtype=C64), 6, 1, "forward"))
case("aten._fft_r2c.default", (t(2, 4, 6), [1, 2], 0, True), (t(2, 4, 6), [2], 1, False))
case("aten._fft_c2c.default", (t(2, 4, 6, dtype=C64), [1, 2], 2, False))
case("aten._fft_c2r.default", (t(2, 4, 4, dtype=C64), [1, 2], 2, 6))
case(aten("fft_fftshift.default fft_ifftshift.default"), (t(3, 4), [0]), (t(3, 4, 5),))
case(aten("fft_fft2.default fft_ifft2.default"), (t(2, 4, 6, dtype=C64),))
case("aten.fft_rfft2.default", (t(2, 4, 6),))
case("aten.fft_irfft2.default", (t(2, 4, 4, dtype=C64),))
case(aten("fft_fftn.default fft_ifftn.default"), (t(2, 4, 6, dtype=C64), None, [0, 2]))
case("aten.fft_rfftn.default", (t(2, 4, 6), None, [1, 2]))
case("aten.fft_irfftn.default", (t(2, 4, 4, dtype=C64), None, [1, 2]))
case("aten.stft.default", (t(2, 32), 8, 4, 8, torch.hann_window(8), False, True, True))
case("aten.istft.default", (torch.stft(t(2, 32), 8, 4, 8, torch.hann_window(8), return_complex=True), 8, 4, 8, torch.hann_window(8)))

# Quantized.
Q = "quantized_decomposed."
case(Q + "quantize_per_tensor.default", (t(2, 9), 0.05, 3, -128, 127, I8))
case(Q + "dequantize_per_tensor.default", (t(2, 9, dtype=I8), 0.05, 3, -128, 127, I8))
case(Q + "quantize_per_tensor.tensor", (t(2, 9), torch.tensor(0.05, dtype=F64), torch.tensor(3), -128, 127, I8))
case(Q + "dequantize_per_tensor.tensor", (t(2, 9, dtype=I8), torch.tensor(0.05, dtype=F64), torch.tensor(3), -128, 127, I8))
case(Q + "quantize_per_channel.default", (t(3, 9), t(3, low=0.01, high=0.1), index(3, 3), 0, -128, 127, I8))
case(Q + "dequantize_per_channel.default", (t(3, 9, dtype=I8), t(3, low=0.01, high=0.1), index(3, 3), 0, -128, 127, I8))

# What gives no numbers to compare, or whose results have a size that no example settles.
WITHOUT = {
    "aten.empty.memory_format": "what it holds is not defined", "aten.empty_like.default": "what it holds is not defined",
    "aten.new_empty.default": "what it holds is not defined",
    "aten._assert_tensor_metadata.default": "a check", "aten._assert_scalar.default": "a check", "buffer_mutation": "a node of the reader",
    "aten.sym_constrain_range.default": "a check", "aten.sym_constrain_range_for_size.default": "a check",
    "higher_order.wrap_with_autocast": "calls a graph", "higher_order.wrap_with_set_grad_enabled": "calls a graph",
    "aten.nonzero.default": "its size is known at run time", "aten.masked_select.default": "its size is known at run time",
    "torch.sym_ite": "no program of torch.export's own makes it",
}

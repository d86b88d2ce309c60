// The loops of the vector engine over dense arrays, compiled once for each CPU level. All levels
// give the bits of arithmetic.h.
#ifndef KILN_TARGETS_SYSTOLIC_SIMULATE_FUNCTIONAL_VECTOR_KERNELS_H_
#define KILN_TARGETS_SYSTOLIC_SIMULATE_FUNCTIONAL_VECTOR_KERNELS_H_

#include <cstdint>
#include <cstring>

#include "kiln/numerics/simd.h"
#include "kiln/targets/systolic/isa/isa.h"

namespace kiln::systolic {

// Extra entries that float arrays of the engine have beyond those in use; the loops run over full
// vectors.
inline constexpr int64_t kFloatSlack = 16;

// An argument of a stage: an array, or one value for all elements.
struct StageArgument {
  const float* array = nullptr;
  float value = 0;
};

// Accumulators of some rows and the parameters of their columns. Every array extends to a multiple
// of 16 columns. An integer accumulation buffer sets `sums`; other buffers set `values`.
struct AccumulatorRows {
  const int32_t* sums = nullptr;
  const float* values = nullptr;
  int64_t stride = 0;  // from row to row
  const int32_t* offset = nullptr;
  const float* scale = nullptr;
  const float* bias = nullptr;
  int bits = 32;  // of the integer accumulation format
};

// The loops for one CPU level.
struct VectorKernels {
  // out[i] = LoadValue of element i of a dense array in memory, not rounded. Integers and kFloat32
  // only.
  void (*load)(Element element, float scale, int32_t zero_point, const uint8_t* memory,
               int64_t count, float* out);
  // out[r * columns + n] = AccumulatorToValue with fp32 as the vector format; `out` is dense.
  void (*from_accumulators)(const AccumulatorRows& in, int64_t rows, int64_t first_column,
                            int64_t columns, float* out);
  // values[i] = ApplyUnrounded with fp32 as the vector format. Does nothing for approximate
  // functions and saves.
  void (*stage)(StageOp op, float* values, StageArgument a, StageArgument b, int64_t count);
  // partials[i] = partials[i] + values[i], or the greater one as defined by MaxOf. Changes exactly
  // `count` entries.
  void (*join)(bool max, float* partials, const float* values, int64_t count);
  // Stores StoreValue of each value into a dense array in memory. Integers and kFloat32 only.
  void (*store)(Element element, const QuantiseOut& quantise, const float* values, int64_t count,
                uint8_t* memory);
};

const VectorKernels& GetVectorKernels();  // for GetCpuLevel()
extern const VectorKernels kAvx2VectorKernels;
extern const VectorKernels kAvx512VectorKernels;

// The loops for a vector type V of numerics/simd.h.
template <class V>
struct VectorBody {
  using Float = typename V::Float;
  using Int = typename V::Int;
  static constexpr int64_t kLanes = V::kLanes;

  // ---- memory to values

  template <int kBytes, class Convert>
  static void LoadLoop(const uint8_t* memory, int64_t count, float* out, Convert convert) {
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) V::Store(out + i, convert(memory + i * kBytes));
    if (i < count) {  // memory ends here, and the machine's memory may end here
      uint8_t rest[kLanes * kBytes] = {};
      std::memcpy(rest, memory + i * kBytes, static_cast<size_t>((count - i) * kBytes));
      V::Store(out + i, convert(rest));
    }
  }

  static void Load(Element element, float scale, int32_t zero_point, const uint8_t* memory,
                   int64_t count, float* out) {
    const auto dequantise = [s = V::Set(scale), z = V::SetInt(zero_point)](Int codes) {
      return V::Multiply(V::ToFloat(V::SubtractInt(codes, z)), s);
    };
    switch (element) {
      case Element::kInt8:
        return LoadLoop<1>(memory, count, out,
                           [=](const uint8_t* p) { return dequantise(V::LoadInt8(p)); });
      case Element::kUint8:
        return LoadLoop<1>(memory, count, out,
                           [=](const uint8_t* p) { return dequantise(V::LoadUint8(p)); });
      case Element::kInt16:
        return LoadLoop<2>(memory, count, out,
                           [=](const uint8_t* p) { return dequantise(V::LoadInt16(p)); });
      case Element::kInt32:
        return LoadLoop<4>(memory, count, out,
                           [=](const uint8_t* p) { return dequantise(V::LoadInt32(p)); });
      default:
        std::memcpy(out, memory, static_cast<size_t>(count) * 4);
        return;
    }
  }

  // ---- accumulators to values

  template <bool kWrap>
  static void AccumulatorLoop(const AccumulatorRows& in, int64_t rows, int64_t first,
                              int64_t columns, float* out) {
    for (int64_t r = 0; r < rows; ++r) {
      const int32_t* sums = in.sums + r * in.stride;
      float* to = out + r * columns;
      for (int64_t n = 0; n < columns; n += kLanes) {  // may write beyond the row; the next row
                                                       // overwrites it
        Int sum = V::LoadInt32(sums + first + n);
        if constexpr (kWrap) sum = V::ShiftRightBy(V::ShiftLeftBy(sum, 32 - in.bits), 32 - in.bits);
        sum = V::AddInt(sum, V::LoadInt32(in.offset + first + n));
        V::Store(to + n, V::Fma(V::ToFloat(sum), V::Load(in.scale + first + n),
                                V::Load(in.bias + first + n)));
      }
    }
  }
  static void ValueLoop(const AccumulatorRows& in, int64_t rows, int64_t first, int64_t columns,
                        float* out) {
    for (int64_t r = 0; r < rows; ++r) {
      const float* values = in.values + r * in.stride;
      float* to = out + r * columns;
      for (int64_t n = 0; n < columns; n += kLanes) {
        V::Store(to + n, V::Fma(V::Load(values + first + n), V::Load(in.scale + first + n),
                                V::Load(in.bias + first + n)));
      }
    }
  }
  static void FromAccumulators(const AccumulatorRows& in, int64_t rows, int64_t first,
                               int64_t columns, float* out) {
    if (in.values != nullptr) {
      ValueLoop(in, rows, first, columns, out);
    } else if (in.bits == 32) {
      AccumulatorLoop<false>(in, rows, first, columns, out);
    } else {
      AccumulatorLoop<true>(in, rows, first, columns, out);
    }
  }

  // ---- stages

  template <class Op>
  static void Unary(float* values, int64_t count, Op op) {
    for (int64_t i = 0; i < count; i += kLanes) V::Store(values + i, op(V::Load(values + i)));
  }
  template <class Op>
  static void Binary(float* values, StageArgument a, int64_t count, Op op) {
    if (a.array != nullptr) {
      for (int64_t i = 0; i < count; i += kLanes)
        V::Store(values + i, op(V::Load(values + i), V::Load(a.array + i)));
    } else {
      const Float value = V::Set(a.value);
      for (int64_t i = 0; i < count; i += kLanes)
        V::Store(values + i, op(V::Load(values + i), value));
    }
  }
  static void FusedMultiplyAdd(float* values, StageArgument a, StageArgument b, int64_t count) {
    if (b.array != nullptr) {
      if (a.array != nullptr) {
        for (int64_t i = 0; i < count; i += kLanes) {
          V::Store(values + i,
                   V::Fma(V::Load(values + i), V::Load(a.array + i), V::Load(b.array + i)));
        }
      } else {
        const Float value = V::Set(a.value);
        for (int64_t i = 0; i < count; i += kLanes) {
          V::Store(values + i, V::Fma(V::Load(values + i), value, V::Load(b.array + i)));
        }
      }
    } else {
      Binary(values, a, count, [b = V::Set(b.value)](Float v, Float x) { return V::Fma(v, x, b); });
    }
  }

  static void Apply(StageOp op, float* values, StageArgument a, StageArgument b, int64_t count) {
    switch (op) {
      case StageOp::kAdd:
        return Binary(values, a, count, [](Float v, Float x) { return V::Add(v, x); });
      case StageOp::kSubtract:
        return Binary(values, a, count, [](Float v, Float x) { return V::Subtract(v, x); });
      case StageOp::kReverseSubtract:
        return Binary(values, a, count, [](Float v, Float x) { return V::Subtract(x, v); });
      case StageOp::kMultiply:
        return Binary(values, a, count, [](Float v, Float x) { return V::Multiply(v, x); });
      case StageOp::kFma:
        return FusedMultiplyAdd(values, a, b, count);
      case StageOp::kMax:
        return Binary(values, a, count, [](Float v, Float x) { return V::Max(v, x); });
      case StageOp::kMin:
        return Binary(values, a, count, [](Float v, Float x) { return V::Min(v, x); });
      case StageOp::kAbsolute:
        return Unary(values, count, [](Float v) {
          return V::AsFloat(V::And(V::AsInt(v), V::SetInt(0x7fffffff)));
        });
      case StageOp::kSquare:
        return Unary(values, count, [](Float v) { return V::Multiply(v, v); });
      case StageOp::kSelectNegative:
        return Binary(values, a, count, [](Float v, Float x) {
          return V::Select(V::Less(v, V::Set(0.0f)), V::Multiply(v, x), v);
        });
      case StageOp::kDivide:
        return Binary(values, a, count, [](Float v, Float x) { return V::Divide(v, x); });
      case StageOp::kSave0:
      case StageOp::kSave1:
      case StageOp::kFunction:
      case StageOp::kReciprocal:
      case StageOp::kReciprocalSquareRoot:
        return;
    }
  }

  template <class Op>
  static void JoinLoop(float* partials, const float* values, int64_t count, Op op) {
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
      V::Store(partials + i, op(V::Load(partials + i), V::Load(values + i)));
    if (i < count) {
      float rest[kLanes];
      V::Store(rest, op(V::Load(partials + i), V::Load(values + i)));
      for (int64_t j = i; j < count; ++j) partials[j] = rest[j - i];
    }
  }
  static void Join(bool max, float* partials, const float* values, int64_t count) {
    if (max) {
      JoinLoop(partials, values, count, [](Float p, Float v) { return V::Max(p, v); });
    } else {
      JoinLoop(partials, values, count, [](Float p, Float v) { return V::Add(p, v); });
    }
  }

  // ---- values to memory

  template <int kBytes, class Put>
  static void StoreLoop(const float* values, int64_t count, uint8_t* memory, Put put) {
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) put(memory + i * kBytes, V::Load(values + i));
    if (i < count) {
      uint8_t rest[kLanes * kBytes];
      put(rest, V::Load(values + i));
      std::memcpy(memory + i * kBytes, rest, static_cast<size_t>((count - i) * kBytes));
    }
  }

  static void Store(Element element, const QuantiseOut& quantise, const float* values,
                    int64_t count, uint8_t* memory) {
    if (element == Element::kFloat32) {
      return StoreLoop<4>(values, count, memory, [](uint8_t* p, Float v) {
        const Float nan = V::AsFloat(V::SetInt(0x7fc00000));
        V::StoreInt32(p, V::AsInt(V::Select(V::Equal(v, v), v, nan)));
      });
    }
    // The limits are integers, so clamping before rounding gives the same code. They fit a float
    // exactly because |low|, |high| <= 2^15 and StoreFits excludes zero points beyond 2^22.
    const Float inverse = V::Set(quantise.inverse_scale);
    const Float low = V::Set(static_cast<float>(quantise.low - quantise.zero_point));
    const Float high = V::Set(static_cast<float>(quantise.high - quantise.zero_point));
    const Int zero_point = V::SetInt(quantise.zero_point);
    const auto code = [=](Float v) {
      const Float scaled = V::Multiply(v, inverse);
      const Float number = V::Select(V::Equal(scaled, scaled), scaled, V::Set(0.0f));
      return V::AddInt(V::Round(V::Min(V::Max(number, low), high)), zero_point);
    };
    if (element == Element::kInt16) {
      StoreLoop<2>(values, count, memory, [&](uint8_t* p, Float v) { V::StoreInt16(p, code(v)); });
    } else {
      StoreLoop<1>(values, count, memory, [&](uint8_t* p, Float v) { V::StoreInt8(p, code(v)); });
    }
  }

  static constexpr VectorKernels kKernels = {Load, FromAccumulators, Apply, Join, Store};
};

// Returns whether VectorKernels::store supports an integer element or kFloat32. Codes of 32 bits,
// and zero points beyond the limit, are stored one by one.
inline bool StoreFits(Element element, const QuantiseOut& quantise) {
  if (element == Element::kFloat32) return true;
  constexpr int32_t kLimit = 1 << 22;
  return element != Element::kInt32 && quantise.zero_point >= -kLimit &&
         quantise.zero_point <= kLimit;
}

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_SIMULATE_FUNCTIONAL_VECTOR_KERNELS_H_

// The GEMM unit's arithmetic at the cycle level: plain loops, in the order of the machine's steps.
#ifndef KILN_TARGETS_VTA_SIMULATE_CYCLE_CYCLE_GEMM_H_
#define KILN_TARGETS_VTA_SIMULATE_CYCLE_CYCLE_GEMM_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "kiln/support/cpu.h"
#include "kiln/targets/vta/isa/elements.h"
#include "kiln/targets/vta/isa/instruction.h"

namespace kiln::vta {

// The buffers and sizes that a GEMM instruction works on.
struct CycleGemm {
  size_t batch = 1, block_in = 16, block_out = 16;
  int accumulator_bits = 32;
  bool narrow = false;               // whether products fit in 16 bits
  const int16_t* inputs = nullptr;   // [element][batch][block_in]
  const int16_t* weights = nullptr;  // [element][block_in][block_out]
  int32_t* accumulators = nullptr;   // [element][batch][block_out]
};

// Execute all steps of a GEMM instruction without reset. Indices must be inside the buffers.
void RunCycleGemm(const Instruction& instruction, std::span<const Uop> uops, const CycleGemm& gemm);
void RunCycleGemmAvx2(const Instruction& instruction, std::span<const Uop> uops,
                      const CycleGemm& gemm);

// Multiplies one row of inputs by one element of weights and adds the products to a row of sums,
// modulo 2^32.
template <CpuLevel kLevel>
inline void AddRow(const int16_t* inputs, const int16_t* weights, size_t block_in, size_t block_out,
                   int32_t* sums) {
  for (size_t k = 0; k < block_in; ++k) {
    for (size_t o = 0; o < block_out; ++o) {
      const int32_t product = int32_t{inputs[k]} * weights[k * block_out + o];
      sums[o] =
          static_cast<int32_t>(static_cast<uint32_t>(sums[o]) + static_cast<uint32_t>(product));
    }
  }
}

// Does the same for blocks of 16 x 16 with explicit vectors, which keep the sums in registers; left
// to itself, the compiler vectorises over k. kNarrow states that 16 bits hold every product.
template <CpuLevel kLevel, bool kNarrow>
inline void AddRowOfSixteen(const int16_t* inputs, const int16_t* weights, int32_t* sums) {
  using Operands = int16_t __attribute__((vector_size(32)));
  using Products = int32_t __attribute__((vector_size(64)));
  using Sums = uint32_t __attribute__((vector_size(64)));
  Sums row;
  std::memcpy(&row, sums, sizeof(row));
  for (size_t k = 0; k < 16; ++k) {
    Operands column;
    std::memcpy(&column, weights + 16 * k, sizeof(column));
    Products products;
    if constexpr (kNarrow) {
      products = __builtin_convertvector(column * inputs[k], Products);
    } else {
      products = __builtin_convertvector(column, Products) * int32_t{inputs[k]};
    }
    row += __builtin_convertvector(products, Sums);
  }
  std::memcpy(sums, &row, sizeof(row));
}

// Runs the loops over all steps. kLevel has no effect except that it distinguishes the
// instantiations of files that are compiled for different processors.
template <CpuLevel kLevel, bool kSixteen, bool kNarrow>
void RunGemmSteps(const Instruction& in, std::span<const Uop> uops, const CycleGemm& gemm) {
  const size_t block_in = kSixteen ? 16 : gemm.block_in, block_out = kSixteen ? 16 : gemm.block_out;
  for (size_t outer = 0; outer < in.outer; ++outer) {
    for (size_t inner = 0; inner < in.inner; ++inner) {
      for (const Uop& uop : uops) {
        const size_t dst = uop.dst + outer * in.dst_outer + inner * in.dst_inner;
        const size_t src = uop.src + outer * in.src_outer + inner * in.src_inner;
        const size_t weight = uop.weight + outer * in.weight_outer + inner * in.weight_inner;
        const int16_t* weights = gemm.weights + weight * block_in * block_out;
        for (size_t b = 0; b < gemm.batch; ++b) {
          const int16_t* inputs = gemm.inputs + (src * gemm.batch + b) * block_in;
          int32_t* sums = gemm.accumulators + (dst * gemm.batch + b) * block_out;
          if constexpr (kSixteen) {
            AddRowOfSixteen<kLevel, kNarrow>(inputs, weights, sums);
          } else {
            AddRow<kLevel>(inputs, weights, block_in, block_out, sums);
          }
          if (gemm.accumulator_bits == 32) continue;
          for (size_t o = 0; o < block_out; ++o) sums[o] = Wrap(sums[o], gemm.accumulator_bits);
        }
      }
    }
  }
}

template <CpuLevel kLevel>
void ChooseGemmSteps(const Instruction& in, std::span<const Uop> uops, const CycleGemm& gemm) {
  const bool sixteen = gemm.block_in == 16 && gemm.block_out == 16;
  if (sixteen && gemm.narrow) return RunGemmSteps<kLevel, true, true>(in, uops, gemm);
  if (sixteen) return RunGemmSteps<kLevel, true, false>(in, uops, gemm);
  RunGemmSteps<kLevel, false, false>(in, uops, gemm);
}

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_SIMULATE_CYCLE_CYCLE_GEMM_H_

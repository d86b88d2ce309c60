// Implements the common part of mac_gemm.h: choosing the kernel for a rule and filling operands.
#include "kiln/execute/mac_gemm.h"

#include <cstring>
#include <numeric>

#include "kiln/execute/mac_kernels.h"
#include "kiln/numerics/tables.h"
#include "kiln/support/check.h"

namespace kiln {

namespace internal {

// Checks the arguments that every kernel's Pack has in common.
void CheckPacking(const MacRule& rule, const MacOrder& order, int64_t columns,
                  const float* scales) {
  const int64_t elements =
      std::accumulate(order.tile_sizes.begin(), order.tile_sizes.end(), int64_t{0});
  KILN_CHECK(columns >= 1 && elements >= 1 && elements <= int64_t{1} << 28);
  KILN_CHECK(elements == std::ssize(order.offsets));
  for (int64_t size : order.tile_sizes) KILN_CHECK(size >= 1);
  KILN_CHECK(rule.scaled == (scales != nullptr));
  KILN_CHECK(order.scale_offsets.size() == (rule.scaled ? order.tile_sizes.size() : 0));
}

}  // namespace internal

std::unique_ptr<const MacKernel> MacKernel::Create(CpuLevel level, const MacRule& rule) {
  // The first kernel that can give the rule's bits serves it; the scalar kernel can serve every
  // rule.
  KILN_CHECK(!FindMacFault(rule).has_value());
  if (auto kernel = internal::MakeIntegerKernel(level, rule)) return kernel;
  if (auto kernel = internal::MakeQuireKernel(level, rule)) return kernel;
  if (auto kernel = internal::MakeFloatKernel(level, rule)) return kernel;
  return internal::MakeScalarKernel(rule);
}

// Converts the code once and copies the operand.
void MacKernel::FillOperands(uint32_t code, int64_t count, void* operands) const {
  if (count == 0) return;
  uint8_t in_memory[4] = {}, one[8];
  StoreCode(rule_.input, code, 0, in_memory);
  StoreOperands(in_memory, 1, one);
  const auto bytes = static_cast<size_t>(operand_bytes());
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(static_cast<uint8_t*>(operands) + i * operand_bytes(), one, bytes);
}

}  // namespace kiln

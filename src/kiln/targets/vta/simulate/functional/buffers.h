// The functional level's buffers. Elements are stored as numbers in the layout of the GEMM kernels
// (gemm.h).
#ifndef KILN_TARGETS_VTA_SIMULATE_FUNCTIONAL_BUFFERS_H_
#define KILN_TARGETS_VTA_SIMULATE_FUNCTIONAL_BUFFERS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kiln/targets/vta/config/config.h"
#include "kiln/targets/vta/isa/isa.h"
#include "kiln/targets/vta/simulate/functional/gemm.h"

namespace kiln::vta {

// The micro-op, input, weight and accumulator buffers of a machine.
class Buffers {
 public:
  explicit Buffers(const Config& config);

  // Writes an element of a buffer from its bytes in external memory, or zeros if `bytes` is null.
  // For kAccumulator8 each byte is a signed number.
  void Put(Memory memory, size_t element, const uint8_t* bytes);
  // Writes the low bits of an accumulator element to `bytes`, as an output element.
  void Get(size_t element, uint8_t* bytes) const;

  const std::vector<Uop>& uops() const { return uops_; }
  size_t accumulator_numbers() const { return accumulator_numbers_; }  // per element
  int32_t* accumulator(size_t element) {
    return accumulators_.data() + element * accumulator_numbers_;
  }
  GemmBuffers ForGemm();
  // Wraps an element's numbers, which are exact modulo 2^32, to the accumulators' width.
  void WrapAccumulator(size_t element);

 private:
  void PutInput(int16_t* numbers, const uint8_t* bytes) const;
  void PutWeight(int16_t* numbers, const uint8_t* bytes) const;

  const Config config_;
  const Encoding encoding_;
  const size_t pairs_, input_numbers_, weight_numbers_, accumulator_numbers_;
  std::vector<Uop> uops_;
  std::vector<int16_t> inputs_, weights_;
  std::vector<int32_t> accumulators_;
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_SIMULATE_FUNCTIONAL_BUFFERS_H_

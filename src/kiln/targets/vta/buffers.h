// The functional level's buffers: elements as numbers, as the GEMM kernels want them (gemm.h).
#ifndef KILN_TARGETS_VTA_BUFFERS_H_
#define KILN_TARGETS_VTA_BUFFERS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kiln/targets/vta/config.h"
#include "kiln/targets/vta/gemm.h"
#include "kiln/targets/vta/isa.h"

namespace kiln::vta {

class Buffers {
 public:
  explicit Buffers(const Config& config);

  // Element `element` of a memory that loads reach, from its bytes in outer memory; null: zeros. kAccumulator8: a
  // signed byte a number.
  void Put(Memory memory, size_t element, const uint8_t* bytes);
  // The low bits of an accumulator element, as an output element's bytes.
  void Get(size_t element, uint8_t* bytes) const;

  const std::vector<Uop>& uops() const { return uops_; }
  size_t accumulator_numbers() const { return accumulator_numbers_; }  // of an element
  int32_t* accumulator(size_t element) {
    return accumulators_.data() + element * accumulator_numbers_;
  }
  GemmBuffers ForGemm();
  // Brings an element's numbers modulo 2^32 to the accumulators' width.
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

#endif  // KILN_TARGETS_VTA_BUFFERS_H_

// How values are encoded in the machine's memory: as codes, or as numbers in a format. The compiler
// chooses the encoding; instructions, host steps and simulators read and write by it.
#ifndef KILN_TARGETS_SYSTOLIC_ISA_ENCODING_H_
#define KILN_TARGETS_SYSTOLIC_ISA_ENCODING_H_

#include <cstdint>
#include <memory>

#include "kiln/ir/graph.h"
#include "kiln/support/status.h"
#include "kiln/targets/systolic/isa/isa.h"

namespace kiln::systolic {

// The encoding of a value in memory.
struct Encoding {
  ElementType type = ElementType::kFloat32;  // of the graph's value
  Element element = Element::kFloat32;
  Format format = {};  // of the codes or numbers; fp32 if it has no name
  int bytes = 4;       // of one element
  // The real value is scale * (code - zero_point) for integers, and scale * (value of the code) for
  // kInput and kWeight.
  float scale = 1;
  int32_t zero_point = 0;
  int32_t low = 0, high = 0;
  // Block scales along one axis of the value. Size 0 means no block scales.
  int block_size = 0;
  int block_axis = -1;
  Format scale_format = {};
  // The annotation of a value whose format no unit of the machine can write; else null. Such a
  // value is stored in fp32, and the host step that writes it rounds it to the annotation.
  std::shared_ptr<const Quantisation> foreign;

  bool is_float() const { return element == Element::kFloat32 || element == Element::kVector; }
  bool blocked() const { return block_size > 0; }
  // Returns whether equal bits represent equal values in both encodings. Ignores the axis of block
  // scales.
  bool SameCodes(const Encoding& other) const;
};

// Returns the encoding that a value's annotation requires, or the vector format if the value has no
// annotation. Unsigned codes of up to 8 bits are stored in a signed byte: half of their range is
// subtracted from code and zero point, which keeps the values and gives codes that the array
// accepts. A value that the design point cannot hold as codes gets `foreign`. Error, naming the
// value: an element type that no memory element can hold.
StatusOr<Encoding> EncodingOf(const Value& value, const Config& config);
// Returns the encoding of values without annotation: fp32, or the vector format if it is narrower.
Encoding VectorEncoding(const Config& config);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_ISA_ENCODING_H_

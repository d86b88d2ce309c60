// Reads quantising nodes as annotations. The annotation passes and rewrite.h's rules use it to
// decide which nodes an annotation can replace.
#ifndef KILN_PASSES_QUANTISER_H_
#define KILN_PASSES_QUANTISER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "kiln/ir/graph.h"
#include "kiln/ir/tensor.h"

namespace kiln {

// Returns the annotation that describes how a node rounds the values that pass through it, with
// exactly the node's parameters:
//   QuantizeLinear, DequantizeLinear   int8, uint8, int16 or uint16 by the codes' element type; all
//                                      codes are used
//   Quant                              int<N> or uint<N> of the bit width; narrow and signed:
//                                      symmetric (-max to max)
//   Quantise                           the annotation in its attribute
//   BipolarQuant                       of a constant: narrow int2, using two of its codes -1, 0, 1
// Returns nullopt if no annotation describes the node, which then has to stay:
//   - parameters that are not constant; scales that are not fp32, positive, finite and with a
//     finite inverse;
//   - scales per block (FindBlockRule annotates constants), or along more than one axis; more zero
//     points than scales;
//   - Quant: a width that is not a whole number from 1 to 16, a rounding mode other than ROUND, a
//     zero point that is not a code, narrow without sign or with a zero point.
std::optional<Quantisation> AnnotationOf(const Node& quantiser);

// Returns the annotation of constant values with one scale for each `block_size` elements along
// `axis`, where the scales that follow from the values by the rule of numerics/microscaling.h give
// every value back, in the first of some formats for which they do; nullopt if there is none.
struct BlockFormats {
  std::string_view element, scale;  // names of formats
};
std::optional<Quantisation> FindBlockRule(const Tensor& values, int axis, int64_t block_size,
                                          std::span<const BlockFormats> formats);

// Returns true if both annotations give the same codes for the same values.
bool SameGrid(const Quantisation& a, const Quantisation& b);
bool SameGrid(const std::optional<Quantisation>& a, const std::optional<Quantisation>& b);

// Returns the annotation of a value transposed by `perm` (axis i of the result is axis perm[i]).
std::optional<Quantisation> Permuted(std::optional<Quantisation> q, std::span<const int64_t> perm);

}  // namespace kiln

#endif  // KILN_PASSES_QUANTISER_H_

// Nodes that quantise, read as annotations.
#ifndef KILN_PASSES_QUANTISER_H_
#define KILN_PASSES_QUANTISER_H_

#include <cstdint>
#include <optional>
#include <span>

#include "kiln/ir/graph.h"

namespace kiln {

// The annotation that says what a node does to the values that pass through it, with exactly the node's parameters.
//   QuantizeLinear, DequantizeLinear   int8, uint8, int16 or uint16 by the element type of the codes; all codes are
//   used Quant                              int<N> or uint<N> of the bit width; narrow, signed: symmetric (-max to max)
//   Quantise                           the annotation in its attribute
//   BipolarQuant                       of a constant: int2, narrow, of whose codes -1, 0, 1 it uses two
// nullopt where no annotation says it, and the node has to stay:
//   parameters that are not constant, scales that are not fp32, positive, finite and with a finite inverse
//   scales per block, or along more than one axis; more zero points than scales
//   Quant: a width that is no whole number from 1 to 16, a rounding mode other than ROUND, a zero point that is no
//   code, narrow without sign or with a zero point
std::optional<Quantisation> AnnotationOf(const Node& quantiser);

// The same codes for the same values.
bool SameGrid(const Quantisation& a, const Quantisation& b);
bool SameGrid(const std::optional<Quantisation>& a, const std::optional<Quantisation>& b);

// The annotation of a value that is transposed by `perm` (axis i of the result is axis perm[i]).
std::optional<Quantisation> Permuted(std::optional<Quantisation> q, std::span<const int64_t> perm);

}  // namespace kiln

#endif  // KILN_PASSES_QUANTISER_H_

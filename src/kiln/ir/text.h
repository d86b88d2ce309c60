// The text form of graphs: what `kiln` prints, what tests compare, what a user may write by hand.
//
//   graph "net" {
//     metadata "kiln.mean" = "0.5"
//     input %image : f32[?x3x32x32] quant int8 per_tensor symmetric scale=[0.0078125]
//     const %w : f32[16x3x3x3] = base64 "AACAPw..."
//     const %shape : i64[2] = [0, -1]
//     %1 = conv %image, %w, _ {pads=[1, 1, 1, 1], strides=[1, 1]} "node name" region "stem" : f32[?x16x32x32]
//     %2, _ = max_pool %1 {kernel_shape=[2, 2]} : f32[?x16x31x31]
//     output %2
//   }
//
//   names       %word of letters, digits and _ . / : - or %"any bytes", with \" \\ \n \r \t \xHH
//   types       element[dimensions]: f32[1x3], i64[] a scalar, f32[?x3] with an unknown dimension, f32[*] with none
//   known absent      _ in place of an operand or result; absent results have no type attributes  7, 0.5 (a float has a
//   point, an exponent, or is inf or nan), "s", [1, 2], [1.0], ["s"], ints[], floats[],
//               strings[] (the empty lists), tensor f32[2] = [1, 2]
//   quant       format, scheme, symmetric (goes without saying where the format takes no zero points), axis=, block=,
//               scale_format= (absent: fp32), scale=[...], zero=[...] (absent: a 0 for each scale); a format with
//               other characters than those of a word, such as a codebook's path, stands in double quotes
//   constants   [decimal numbers or "strings"]; base64 "row-major little-endian bytes"; elided
//   comments    # to the end of the line
//
// Order of inputs, constants, nodes and outputs is kept. What PrintGraph writes without elision, ParseGraph reads back
// to an equal graph, bits of floats included (Graph::source aside, which names the file).
#ifndef KILN_IR_TEXT_H_
#define KILN_IR_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "kiln/ir/graph.h"
#include "kiln/support/budgets.h"
#include "kiln/support/status.h"

namespace kiln {

struct PrintOptions {
  // Constants of more elements than this are written as base64 (or elided), smaller ones as numbers.
  int64_t max_listed_elements = 16;
  bool elide_constants = false;  // "elided" in place of the larger constants
};

std::string PrintGraph(const Graph& graph, const PrintOptions& options = {});
// One line of it, without the line end: for messages and debuggers.
std::string PrintNode(const Node& node);

// What stands after `quant` in the text form: "int8 per_tensor scale=[0.5] zero=[-3]".
std::string PrintQuantisation(const Quantisation& quantisation);
// Reads it back; the whole text must be one annotation. Whether it fits a value is VerifyQuantisation's to say.
//   source  what messages name, as for ParseGraph
StatusOr<Quantisation> ParseQuantisation(std::string_view text, std::string_view source);

struct ParseOptions {
  // An elided constant is an error, unless this makes it an input without a value, which serves for shapes, schedules
  // and cycle counts. Such inputs stand after those that the text lists.
  bool elided_as_inputs = false;
  bool verify = true;  // check the graph with Verify at the end
  int64_t most_nodes = budgets::kGraphTextNodes;
};

// Reads a graph. Result types may be left out ("%1 = relu %x"): they are inferred then. `source` is the file's name for
// errors, and becomes Graph::source.
//   errors  "file: line 3, column 9: what is wrong; what would be right"; any bytes are safe to parse, and memory stays
//           in proportion to the text
StatusOr<Graph> ParseGraph(std::string_view text, std::string_view source,
                           const ParseOptions& options = {});

}  // namespace kiln

#endif  // KILN_IR_TEXT_H_

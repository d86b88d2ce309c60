// The text form of graphs (.kir files): printed by `kiln`, compared by tests, written by hand.
//
//   graph "net" {
//     metadata "kiln.mean" = "0.5"
//     input %image : f32[?x3x32x32] quant int8 per_tensor symmetric scale=[0.0078125]
//     const %w : f32[16x3x3x3] = base64 "AACAPw..."
//     const %shape : i64[2] = [0, -1]
//     %1 = conv %image, %w, _ {pads=[1, 1, 1, 1], strides=[1, 1]} "node name" region "stem"
//       : f32[?x16x32x32]
//     %2, _ = max_pool %1 {kernel_shape=[2, 2]} : f32[?x16x31x31]
//     output %2
//   }
//
//   names       % and a word of letters, digits and _ . / : -, or %"any bytes" with the escapes
//               \" \\ \n \r \t \xHH
//   types       element[dimensions]: f32[1x3]; i64[] is a scalar; f32[?x3] has an unknown
//               dimension, f32[*] an unknown rank
//   absent      _ instead of an operand or result; absent results have no type
//   attributes  7, 0.5 (a float has a point, an exponent, or is inf or nan), "s", [1, 2], [1.0],
//               ["s"]; ints[], floats[], strings[] (empty lists); tensor f32[2] = [1, 2]
//   quant       format, scheme, symmetric (implied by formats without zero points), axis=, block=,
//               scale_format= (default fp32), scale=[...], zero=[...] (default: 0 for each scale).
//               A format with characters that a word cannot have, such as the path of a codebook,
//               is written in double quotes.
//   constants   [decimal numbers or "strings"]; base64 "row-major little-endian bytes"; elided
//   comments    # to the end of the line
//
// The order of inputs, constants, nodes and outputs is kept. ParseGraph reads the output of
// PrintGraph without elision back to an equal graph, bits of floats included. Only Graph::source
// differs, which names the file.
#ifndef KILN_IR_TEXT_H_
#define KILN_IR_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "kiln/ir/graph.h"
#include "kiln/support/budgets.h"
#include "kiln/support/status.h"

namespace kiln {

// Options of PrintGraph.
struct PrintOptions {
  // Constants with more elements are written as base64 (or elided), others as numbers.
  int64_t max_listed_elements = 16;
  bool elide_constants = false;  // writes "elided" instead of base64
};

// Returns the text form of a graph.
std::string PrintGraph(const Graph& graph, const PrintOptions& options = {});
// Returns the line of one node without the line end, for messages and debuggers.
std::string PrintNode(const Node& node);

// Returns the text that follows `quant` in the text form: "int8 per_tensor scale=[0.5] zero=[-3]".
std::string PrintQuantisation(const Quantisation& quantisation);
// Parses the text of one annotation. VerifyQuantisation checks whether it fits a value. `source` is
// the name in messages, as for ParseGraph.
StatusOr<Quantisation> ParseQuantisation(std::string_view text, std::string_view source);

// Options of ParseGraph.
struct ParseOptions {
  // Reads elided constants as inputs without a value, which suffice for shapes, schedules and cycle
  // counts; they follow the inputs that the text lists. Otherwise they are errors.
  bool elided_as_inputs = false;
  bool verify = true;  // checks the finished graph with Verify
  int64_t most_nodes = budgets::kGraphTextNodes;
};

// Parses a graph. Result types may be omitted ("%1 = relu %x"); they are then inferred. `source` is
// the name of the file for errors and becomes Graph::source. Any bytes are safe to parse, and
// memory is proportional to the size of the text. Errors: "file: line 3, column 9: what is wrong;
// what would be right".
StatusOr<Graph> ParseGraph(std::string_view text, std::string_view source,
                           const ParseOptions& options = {});

}  // namespace kiln

#endif  // KILN_IR_TEXT_H_

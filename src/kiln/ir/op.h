// The operator table as code: operators.def walked into an enum and a row lookup.
#ifndef KILN_IR_OP_H_
#define KILN_IR_OP_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace kiln {

enum OpTraits : uint32_t {
  kNone = 0,
  kMacs = 1 << 0,  // its work is multiply-accumulates
  kElementwise =
      1 << 1,            // result element i depends on operand elements i only (after broadcasting)
  kBroadcasts = 1 << 2,  // operands broadcast against each other
  kHasLayout = 1 << 3,   // takes the attribute `layout`
  kReduces = 1 << 4,     // Reduce*: operands data, axes; attributes keepdims, noop_with_empty_axes
  kMovesData = 1 << 5,   // no arithmetic: result elements are operand elements (or a fill value)
  kQuantises = 1 << 6,   // part of an already quantised network
};

enum class Op : uint8_t {
#define KILN_OPERATOR(id, text, domain, onnx, least, most, results, traits) k##id,
#include "kiln/ir/operators.def"
#undef KILN_OPERATOR
};

struct OpInfo {
  Op op;
  std::string_view id;           // "Conv"
  std::string_view text;         // "conv"
  std::string_view onnx_domain;  // "" for ai.onnx
  std::string_view onnx_name;
  int min_operands;
  int max_operands;  // -1: no limit
  int max_results;   // -1: no limit
  uint32_t traits;
  bool Has(OpTraits trait) const { return (traits & trait) != 0; }
};

std::span<const OpInfo> AllOps();
const OpInfo& InfoOf(Op op);
std::optional<Op> FindOpByText(std::string_view text);
std::optional<Op> FindOpByOnnxName(std::string_view domain, std::string_view name);

}  // namespace kiln

#endif  // KILN_IR_OP_H_

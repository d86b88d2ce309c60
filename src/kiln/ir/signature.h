// What an operator takes and gives: signatures.def read into rows. Shape inference and the verifier check nodes against
// these; docs/operators.md shows them.
#ifndef KILN_IR_SIGNATURE_H_
#define KILN_IR_SIGNATURE_H_

#include <string>
#include <string_view>
#include <vector>

#include "kiln/ir/attributes.h"
#include "kiln/ir/graph.h"
#include "kiln/ir/op.h"
#include "kiln/support/status.h"

namespace kiln {

// The alternatives of Attribute, in its order.
enum class AttributeKind { kInt, kFloat, kString, kInts, kFloats, kStrings, kTensor };
std::string_view NameOf(
    AttributeKind kind);  // "int", "float", "string", "ints", "floats", "strings", "tensor"
inline AttributeKind KindOf(const Attribute& attribute) {
  return static_cast<AttributeKind>(attribute.index());
}

struct AttributeSpec {
  std::string name;
  AttributeKind kind = AttributeKind::kInt;
  bool required = false;
  std::string
      fallback;  // what absence means, as text; "" where it has a meaning of its own or is required
  std::vector<std::string> allowed;  // the strings allowed; empty: any
};

// The element type of one operand or result: a class, and a letter that binds equal types together (0: none).
struct TypeSpec {
  char letter = 0;
  std::string element_class;  // "float", "any", "i64", ...; that of its letter where it has one
  bool repeats = false;       // stands for all that follow as well
};

struct Signature {
  Op op;
  std::string types;  // as in signatures.def
  std::vector<TypeSpec> operands, results;
  std::vector<AttributeSpec> attributes;  // sorted by name
  const AttributeSpec* FindAttribute(std::string_view name) const;
  // The row of the i-th operand or result; null beyond the last.
  const TypeSpec* Operand(int i) const;
  const TypeSpec* Result(int i) const;
};

const Signature& SignatureOf(Op op);

// Whether an element type belongs to a class ("any", "num", "float", "int", "index", ... or the name of one type).
bool IsOfClass(ElementType type, std::string_view element_class);

// Operand count, presence and element types. On success `results` has one element type a result of the node, or
// nullopt where the signature leaves it to the shape rule.
Status CheckElementTypes(const Node& node, std::string_view source,
                         std::vector<std::optional<ElementType>>* results = nullptr);

// Presence, kind and allowed strings of all attributes; an attribute that the operator does not take is an error.
Status CheckAttributes(const Node& node, std::string_view source);

}  // namespace kiln

#endif  // KILN_IR_SIGNATURE_H_

// Attributes of a node: an ordered map from name to value with typed access. signatures.def lists
// the attributes of each operator.
#ifndef KILN_IR_ATTRIBUTES_H_
#define KILN_IR_ATTRIBUTES_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kiln/ir/tensor.h"

namespace kiln {

// The value of an attribute: one of the kinds of AttributeKind (signature.h), in the same order.
using Attribute = std::variant<int64_t, float, std::string, std::vector<int64_t>,
                               std::vector<float>, std::vector<std::string>, Tensor>;

// The attributes of one node, ordered by name so that printing and comparison are deterministic.
class Attributes {
 public:
  // Returns whether the attribute is present.
  bool Has(std::string_view name) const { return map_.find(name) != map_.end(); }
  // Adds or replaces an attribute.
  void Set(std::string_view name, Attribute value) {
    map_.insert_or_assign(std::string(name), std::move(value));
  }
  // Removes an attribute; does nothing if it is absent.
  void Remove(std::string_view name) {
    if (const auto it = map_.find(name); it != map_.end()) map_.erase(it);
  }

  // Return the value, or the fallback if the attribute is absent or of another type. The verifier
  // reports wrong types beforehand.
  int64_t Int(std::string_view name, int64_t fallback) const {
    return Get<int64_t>(name, fallback);
  }
  float Float(std::string_view name, float fallback) const { return Get<float>(name, fallback); }
  std::string String(std::string_view name, std::string fallback) const {
    return Get<std::string>(name, std::move(fallback));
  }
  std::vector<int64_t> Ints(std::string_view name, std::vector<int64_t> fallback = {}) const {
    return Get<std::vector<int64_t>>(name, std::move(fallback));
  }
  // Returns the tensor, or null if the attribute is absent or not a tensor.
  const Tensor* FindTensor(std::string_view name) const {
    const auto it = map_.find(name);
    return it == map_.end() ? nullptr : std::get_if<Tensor>(&it->second);
  }

  // Iterates over (name, value) pairs in order of names.
  auto begin() const { return map_.begin(); }
  auto end() const { return map_.end(); }
  size_t size() const { return map_.size(); }
  friend bool operator==(const Attributes&, const Attributes&) = default;

 private:
  template <typename T>
  T Get(std::string_view name, T fallback) const {
    const auto it = map_.find(name);
    if (it == map_.end()) return fallback;
    const T* value = std::get_if<T>(&it->second);
    return value != nullptr ? *value : fallback;
  }
  std::map<std::string, Attribute, std::less<>> map_;
};

}  // namespace kiln

#endif  // KILN_IR_ATTRIBUTES_H_

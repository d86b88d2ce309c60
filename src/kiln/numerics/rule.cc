// Turns format rules into codebook formats, and keeps the formats that programs register.

#include "kiln/numerics/rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>

#include "kiln/support/characters.h"
#include "kiln/support/check.h"

namespace kiln {

#define KILN_RULE(name) FormatRule Rule_##name();
#include "kiln/numerics/rules.def"
#undef KILN_RULE

namespace {

constexpr int kMostRuleBits = 8;

// Returns the format of a rule: a codebook of the rule's values. Errors: those of RegisterFormat,
// except for a name that is taken.
StatusOr<Format> FormatOf(const FormatRule& rule) {
  const auto fault = [&](const std::string& what, const std::string& remedy) {
    return ErrorAt("", fmt::format("format rule '{}'", rule.name), what, remedy);
  };
  if (rule.name.empty() || !std::all_of(rule.name.begin(), rule.name.end(), IsNameCharacter)) {
    return fault("has a name that is none", "letters, digits and _");
  }
  if (rule.bits < 1 || rule.bits > kMostRuleBits) {
    return fault(fmt::format("has {} bits", rule.bits), fmt::format("1 to {}", kMostRuleBits));
  }
  if (rule.value == nullptr) return fault("has no values", "a function from code to value");
  Codebook codebook;
  for (uint32_t code = 0; code < 1u << rule.bits; ++code)
    codebook.values.push_back(rule.value(code));
  std::vector<float> sorted = codebook.values;
  if (!std::all_of(sorted.begin(), sorted.end(), [](float x) { return std::isfinite(x); })) {
    return fault("has values that are infinite or NaN", "finite ones");
  }
  std::sort(sorted.begin(), sorted.end());
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end()) {
    return fault(fmt::format("has the value {} twice", *twice), "a value of its own for each code");
  }
  Format format{.name = rule.name, .kind = FormatKind::kCodebook, .bits = rule.bits};
  // Never deleted: formats are valid for the life of the process.
  format.codebook = new Codebook(std::move(codebook));
  return format;
}

// The formats that RegisterFormat added. Never destroyed, since callers hold pointers into it.
struct Registry {
  std::mutex mutex;
  std::vector<std::unique_ptr<const Format>> formats;
};

Registry& TheRegistry() {
  static auto* const registry = new Registry;
  return *registry;
}

}  // namespace

Status RegisterFormat(const FormatRule& rule) {
  if (FindFormat(rule.name).ok()) {
    return ErrorAt("", fmt::format("format rule '{}'", rule.name), "has a name that is taken",
                   "another name");
  }
  KILN_ASSIGN_OR_RETURN(Format format, FormatOf(rule));
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.mutex);
  registry.formats.push_back(std::make_unique<const Format>(std::move(format)));
  return OkStatus();
}

namespace internal {

std::vector<Format> BuiltInRules() {
  std::vector<Format> formats;
  const auto add = [&](const FormatRule& rule) {
    // A built-in rule is part of the program: a fault in it is a programming error.
    StatusOr<Format> format = FormatOf(rule);
    KILN_CHECK(format.ok());
    formats.push_back(*std::move(format));
  };
#define KILN_RULE(name) add(Rule_##name());
#include "kiln/numerics/rules.def"
#undef KILN_RULE
  return formats;
}

const Format* FindRegisteredFormat(std::string_view name) {
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.mutex);
  for (const auto& format : registry.formats) {
    if (format->name == name) return format.get();
  }
  return nullptr;
}

}  // namespace internal
}  // namespace kiln

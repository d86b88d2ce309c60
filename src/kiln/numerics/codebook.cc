// Reads codebook files and interns the codebooks, so that equal formats share one.

#include "kiln/numerics/codebook.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>

#include "kiln/support/budgets.h"
#include "kiln/support/characters.h"
#include "kiln/support/file.h"
#include "kiln/support/yaml.h"

namespace kiln {
namespace {

// Width of a code; a codebook has at most 2^8 = 256 values (Codebook in format.h).
constexpr int kMostCodebookBits = 8;

// Returns whether a character may occur in the path of a codebook's file. The path becomes part of
// format names, in which dots separate modifiers.
bool IsPathByte(char c) { return IsNameCharacter(c) || c == '.' || c == '/' || c == '-'; }

// Records an error if the number of values is wrong or two are equal after rounding to fp32.
// Returns whether all is well.
bool CheckValues(const YamlMap& root, const std::vector<double>& values, int bits) {
  const size_t most = size_t{1} << bits;
  if (values.size() < 2 || values.size() > most) {
    root.Fail("values", fmt::format("{} values under {} bits", values.size(), bits),
              fmt::format("from 2 to {} values", most));
    return false;
  }
  // Adding +0 turns -0 into +0, so that the two count as equal.
  std::vector<float> sorted;
  for (const double value : values) sorted.push_back(static_cast<float>(value) + 0.0f);
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice == sorted.end()) return true;
  root.FailValue("values", fmt::format("the value {} is there twice (in fp32)", *twice),
                 "each value once");
  return false;
}

// Returns the kept Codebook that is equal to `codebook`, adding it if there is none. Formats hold
// plain pointers to codebooks, so that a kept one is never deleted.
const Codebook* Keep(Codebook codebook) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<std::unique_ptr<const Codebook>>;
  const std::lock_guard lock(mutex);
  for (const auto& other : *kept) {
    if (other->file == codebook.file && other->values == codebook.values) return other.get();
  }
  return kept->emplace_back(std::make_unique<const Codebook>(std::move(codebook))).get();
}

}  // namespace

StatusOr<CodebookFile> ParseCodebook(std::string_view text, std::string_view source) {
  KILN_ASSIGN_OR_RETURN(const YamlFile file, YamlFile::Parse(text, source));
  const YamlMap root = file.root();
  root.Require({"name", "bits", "values"});
  CodebookFile result;
  root.String("name", &result.name);
  if (!std::all_of(result.name.begin(), result.name.end(), IsNameCharacter)) {
    root.FailValue("name", fmt::format("'{}' is no name", result.name), "letters, digits and _");
  }
  root.Int("bits", &result.bits, 1, kMostCodebookBits);
  std::vector<double> values;
  constexpr auto kGreatest = static_cast<double>(std::numeric_limits<float>::max());
  root.Doubles("values", &values, -kGreatest, kGreatest);
  if (root.Has("values")) CheckValues(root, values, result.bits);
  KILN_RETURN_IF_ERROR(file.Finish());
  // Stores -0 as +0: a codebook represents zero once.
  for (const double value : values)
    result.codebook.values.push_back(static_cast<float>(value) + 0.0f);
  result.codebook.file = source;
  return result;
}

StatusOr<Format> LoadCodebook(const std::string& path) {
  if (!std::all_of(path.begin(), path.end(), IsPathByte)) {
    return ErrorAt(path, "", "has characters that a format's name cannot have",
                   "letters, digits and _ . / -");
  }
  KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, budgets::kYamlBytes));
  KILN_ASSIGN_OR_RETURN(CodebookFile file, ParseCodebook(text, path));
  Format format{.name = path, .kind = FormatKind::kCodebook, .bits = file.bits};
  format.codebook = Keep(std::move(file.codebook));
  return format;
}

}  // namespace kiln

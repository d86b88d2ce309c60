// Parses an einsum equation into labels per axis, and merges the lengths of axes that share a
// label.

#include "kiln/ir/einsum.h"
#include "kiln/support/excerpt.h"

#include <algorithm>
#include <array>
#include <string>

#include "fmt/format.h"

namespace kiln {
namespace {

constexpr int kLetters = 52;  // labels 0 to 51 are letters; the axes of ellipses have labels above

// The caller adds the name of the node to these errors.
Status Invalid(const std::string& fault) { return absl::InvalidArgumentError(fault); }

// Returns the label of a letter (A to Z are 0 to 25, a to z 26 to 51), or -1 for other characters.
int LabelOf(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return 26 + (c - 'a');
  return -1;
}

char LetterOf(int label) {
  return static_cast<char>(label < 26 ? 'A' + label : 'a' + (label - 26));
}

constexpr int kEllipsis = -1;
// Returns the labels of one term; an ellipsis is kEllipsis. Errors: two ellipses, other characters.
StatusOr<std::vector<int>> ReadTerm(std::string_view term) {
  std::vector<int> labels;
  for (size_t i = 0; i < term.size(); ++i) {
    if (term[i] == ' ') continue;
    if (term.substr(i, 3) == "...") {
      if (std::count(labels.begin(), labels.end(), kEllipsis) > 0) {
        return Invalid(fmt::format("the term {} has two ellipses", QuotedExcerpt(term)));
      }
      labels.push_back(kEllipsis);
      i += 2;
      continue;
    }
    const int label = LabelOf(term[i]);
    if (label < 0)
      return Invalid(
          fmt::format("the term {} holds other than letters and '...'", QuotedExcerpt(term)));
    labels.push_back(label);
  }
  return labels;
}

// The terms of an equation before they are compared with shapes.
struct Terms {
  std::vector<std::vector<int>> operands;
  std::vector<int> result;
  bool has_result = false;
};

// Splits an equation at "->" and commas.
StatusOr<Terms> ReadTerms(std::string_view equation) {
  Terms terms;
  std::string_view left = equation;
  if (const size_t arrow = equation.find("->"); arrow != std::string_view::npos) {
    left = equation.substr(0, arrow);
    terms.has_result = true;
    KILN_ASSIGN_OR_RETURN(terms.result, ReadTerm(equation.substr(arrow + 2)));
  }
  while (true) {
    const size_t comma = std::min(left.find(','), left.size());
    KILN_ASSIGN_OR_RETURN(std::vector<int> labels, ReadTerm(left.substr(0, comma)));
    terms.operands.push_back(std::move(labels));
    if (comma == left.size()) return terms;
    left.remove_prefix(comma + 1);
  }
}

// Returns the labels with the ellipsis, if there is one, replaced by `axes` labels in descending
// order. The last axis of every ellipsis has label kLetters, so that ellipses align at their last
// axis.
std::vector<int> WithEllipsis(const std::vector<int>& labels, int axes) {
  std::vector<int> out;
  for (int label : labels) {
    if (label != kEllipsis) {
      out.push_back(label);
      continue;
    }
    for (int i = axes - 1; i >= 0; --i) out.push_back(kLetters + i);
  }
  return out;
}

}  // namespace

// First the labels of each operand's axes, then the lengths of the labels, then the result's
// labels.
StatusOr<EinsumEquation> ParseEinsum(std::string_view equation, const std::vector<Shape>& shapes) {
  KILN_ASSIGN_OR_RETURN(const Terms terms, ReadTerms(equation));
  if (terms.operands.size() != shapes.size()) {
    return Invalid(fmt::format("the equation {} has {} terms for {} operands",
                               QuotedExcerpt(equation), terms.operands.size(), shapes.size()));
  }
  EinsumEquation out;
  int most_axes = 0;  // the largest number of axes that an ellipsis represents
  for (size_t i = 0; i < shapes.size(); ++i) {
    const std::vector<int>& labels = terms.operands[i];
    const bool open = std::count(labels.begin(), labels.end(), kEllipsis) > 0;
    const int named = static_cast<int>(labels.size()) - (open ? 1 : 0);
    const int axes = shapes[i].rank() - named;
    if (open ? axes < 0 : axes != 0) {
      return Invalid(fmt::format("the equation {} names {} axes of operand {}, which is {}",
                                 QuotedExcerpt(equation), named, i, shapes[i].ToString()));
    }
    if (open) most_axes = std::max(most_axes, axes);
    out.operands.push_back(WithEllipsis(labels, axes));
  }
  // Merges the lengths of all axes with the same label.
  out.sizes.assign(static_cast<size_t>(kLetters + most_axes), kUnknownDim);
  for (size_t i = 0; i < shapes.size(); ++i) {
    for (size_t axis = 0; axis < out.operands[i].size(); ++axis) {
      const int64_t length = shapes[i][static_cast<int>(axis)];
      int64_t& size = out.sizes[static_cast<size_t>(out.operands[i][axis])];
      // A length of 1 broadcasts: any other length replaces it.
      if (length < 0 || length == 1) {
        if (size < 0) size = length;
      } else if (size < 0 || size == 1) {
        size = length;
      } else if (size != length) {
        return Invalid(fmt::format("the equation {} gives axes of {} and {} one label",
                                   QuotedExcerpt(equation), size, length));
      }
    }
  }
  // Without "->" the result has the ellipsis and all letters that occur once, in alphabetical
  // order.
  std::array<int, kLetters> uses{};
  for (const auto& labels : terms.operands) {
    for (int label : labels) {
      if (label >= 0) ++uses[static_cast<size_t>(label)];
    }
  }
  std::vector<int> result = terms.result;
  if (!terms.has_result) {
    result = {kEllipsis};
    for (int label = 0; label < kLetters; ++label) {
      if (uses[static_cast<size_t>(label)] == 1) result.push_back(label);
    }
  }
  for (int label : result) {
    if (label == kEllipsis) continue;
    if (uses[static_cast<size_t>(label)] == 0) {
      return Invalid(fmt::format("the result of {} has '{}', which no operand has",
                                 QuotedExcerpt(equation), LetterOf(label)));
    }
    if (std::count(result.begin(), result.end(), label) > 1) {
      return Invalid(
          fmt::format("the result of {} has '{}' twice", QuotedExcerpt(equation), LetterOf(label)));
    }
  }
  out.result = WithEllipsis(result, most_axes);
  return out;
}

}  // namespace kiln

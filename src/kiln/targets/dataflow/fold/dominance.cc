// Dominance by sorting: sweeps for up to three columns; for more, the values are replaced by their
// ranks, several of which are compared in one 64-bit subtraction.
#include "kiln/targets/dataflow/fold/dominance.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>

namespace kiln::dataflow {
namespace {

// Two columns that were kept, as a descending staircase: no step is at most another in both.
class Staircase {
 public:
  // Returns whether some kept pair is at most (x, y); adds the pair otherwise.
  bool Covers(int64_t x, int64_t y) {
    auto after = steps_.upper_bound(x);
    if (after != steps_.begin() && std::prev(after)->second <= y) return true;
    auto first = steps_.lower_bound(x);
    auto last = first;
    while (last != steps_.end() && last->second >= y) ++last;
    steps_.erase(first, last);
    steps_.emplace(x, y);
    return false;
  }

 private:
  std::map<int64_t, int64_t> steps_;
};

// Rows of ranks in lanes of `bits` bits, whose highest bit is free: with the free bits of b set, no
// lane of b - a borrows, and the free bits that stay set are those of lanes with a <= b.
class PackedRows {
 public:
  PackedRows(size_t columns, int bits)
      : bits_(bits),
        per_word_(64 / static_cast<size_t>(bits)),
        words_((columns + per_word_ - 1) / per_word_) {
    for (size_t lane = 0; lane < per_word_; ++lane) {
      free_ |= uint64_t{1} << (static_cast<int>(lane) * bits_ + bits_ - 1);
    }
    row_.resize(words_);
  }

  // Sets the ranks of the row that Covers compares.
  void SetRank(size_t column, uint64_t rank) {
    uint64_t& word = row_[column / per_word_];
    if (column % per_word_ == 0) word = 0;
    word |= rank << (static_cast<int>(column % per_word_) * bits_);
  }

  // Returns whether a kept row is less than or equal to the current row in every word. If none is,
  // keeps the current row. Adds the number of compared words to *comparisons.
  bool Covers(int64_t* comparisons) {
    const auto words = static_cast<int64_t>(words_);
    const size_t blocks = least_.size() / words_;
    for (size_t b = 0; b < blocks; ++b) {
      *comparisons += words;
      if (!AtMost(&least_[b * words_])) continue;
      const size_t end = std::min((b + 1) * kBlock, count_);
      for (size_t i = b * kBlock; i < end; ++i) {
        if (!AtMost(&kept_[i * words_])) continue;
        *comparisons += words * static_cast<int64_t>(i - b * kBlock);
        return true;
      }
      *comparisons += words * kBlock;
    }
    if (count_ % kBlock == 0) {
      least_.insert(least_.end(), row_.begin(), row_.end());
    } else {
      uint64_t* least = &least_[least_.size() - words_];
      for (size_t w = 0; w < words_; ++w) least[w] = Least(least[w], row_[w]);
    }
    kept_.insert(kept_.end(), row_.begin(), row_.end());
    ++count_;
    return false;
  }

 private:
  static constexpr size_t kBlock = 16;

  bool AtMost(const uint64_t* other) const {
    for (size_t w = 0; w < words_; ++w) {
      if ((((row_[w] | free_) - other[w]) & free_) != free_) return false;
    }
    return true;
  }
  uint64_t Least(uint64_t a, uint64_t b) const {
    const uint64_t not_above = ((b | free_) - a) & free_;          // lanes with a <= b
    const uint64_t of_a = not_above - (not_above >> (bits_ - 1));  // all lower bits of them
    return (a & of_a) | (b & ~of_a & ~free_);
  }

  const int bits_;
  const size_t per_word_, words_;
  uint64_t free_ = 0;
  size_t count_ = 0;
  std::vector<uint64_t> row_, kept_, least_;
};

// The rows without the columns in which all agree, in lexicographic order.
struct SortedRows {
  size_t width = 0;
  std::vector<int64_t> packed;  // width values per row, in the order of the rows given
  std::vector<int> order;

  const int64_t* row(int i) const { return &packed[static_cast<size_t>(i) * width]; }
};

SortedRows Sort(const std::vector<int64_t>& rows, size_t stride, size_t count) {
  std::vector<size_t> used;
  for (size_t c = 0; c < stride; ++c) {
    for (size_t i = 1; i < count; ++i) {
      if (rows[i * stride + c] == rows[c]) continue;
      used.push_back(c);
      break;
    }
  }
  SortedRows sorted;
  sorted.width = used.size();
  sorted.packed.reserve(count * used.size());
  for (size_t i = 0; i < count; ++i) {
    for (const size_t c : used) sorted.packed.push_back(rows[i * stride + c]);
  }
  sorted.order.resize(count);
  std::iota(sorted.order.begin(), sorted.order.end(), 0);
  if (used.empty()) return sorted;
  std::sort(sorted.order.begin(), sorted.order.end(), [&](int a, int b) {
    const int64_t *x = sorted.row(a), *y = sorted.row(b);
    for (size_t c = 0; c < sorted.width; ++c) {
      if (x[c] != y[c]) return x[c] < y[c];
    }
    return a < b;
  });
  return sorted;
}

// Keeps the undominated rows of four columns or more. The order takes care of the first column.
std::vector<int> KeepByRanks(const SortedRows& sorted, int64_t* comparisons) {
  const size_t columns = sorted.width - 1;
  std::vector<std::vector<int64_t>> values(columns);
  size_t most = 0;
  for (size_t c = 0; c < columns; ++c) {
    for (const int i : sorted.order) values[c].push_back(sorted.row(i)[c + 1]);
    std::sort(values[c].begin(), values[c].end());
    values[c].erase(std::unique(values[c].begin(), values[c].end()), values[c].end());
    most = std::max(most, values[c].size());
  }
  // Sorting the columns takes about as long as these comparisons.
  *comparisons += static_cast<int64_t>(columns * sorted.order.size() * 16);
  PackedRows rows(columns, most <= (size_t{1} << 15) ? 16 : 32);
  std::vector<int> kept;
  for (const int i : sorted.order) {
    for (size_t c = 0; c < columns; ++c) {
      const auto at = std::lower_bound(values[c].begin(), values[c].end(), sorted.row(i)[c + 1]);
      rows.SetRank(c, static_cast<uint64_t>(at - values[c].begin()));
    }
    if (!rows.Covers(comparisons)) kept.push_back(i);
  }
  return kept;
}

}  // namespace

// In lexicographic order, a row comes after all rows that dominate it, so each row is compared only
// with the rows kept so far. Columns in which all rows agree are left out first.
std::vector<int> Undominated(const std::vector<int64_t>& rows, int columns, int count,
                             int64_t* comparisons) {
  if (count == 0) return {};
  const SortedRows sorted = Sort(rows, static_cast<size_t>(columns), static_cast<size_t>(count));
  // A row comes after all rows that dominate it.
  if (sorted.width == 0) return {0};
  if (sorted.width > 3) return KeepByRanks(sorted, comparisons);
  std::vector<int> kept;
  if (sorted.width == 3) {
    Staircase staircase;
    for (const int i : sorted.order) {
      if (!staircase.Covers(sorted.row(i)[1], sorted.row(i)[2])) kept.push_back(i);
    }
    return kept;
  }
  int64_t least = 0;
  for (const int i : sorted.order) {
    const int64_t value = sorted.width == 1 ? 0 : sorted.row(i)[1];
    if (!kept.empty() && value >= least) continue;
    least = value;
    kept.push_back(i);
  }
  return kept;
}

}  // namespace kiln::dataflow

// The words of vector instructions and drains in order, from the definition of the instruction
// alone (isa.h, walk.h). The vector unit's sequencer must produce this list; the address walkers
// must take the steps between its words (rtl/systolic/vector/kiln_vector_pkg.sv).
#ifndef KILN_TESTS_RTL_SYSTOLIC_WORD_LIST_H_
#define KILN_TESTS_RTL_SYSTOLIC_WORD_LIST_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "kiln/targets/systolic/config/config.h"
#include "kiln/targets/systolic/isa/isa.h"
#include "kiln/targets/systolic/isa/timing.h"
#include "kiln/targets/systolic/isa/walk.h"

namespace kiln::rtl {

constexpr uint64_t kAddressMask = (uint64_t{1} << 32) - 1;

// STEP_* and LEVEL_* of kiln_vector_pkg.
enum class StepKind { kWord, kRow, kGroup, kPass, kPixel, kPixelRow, kColumn, kBlock };
enum BlockLevel { kLevelBatch = 0, kLevelTileRow = 1, kLevelTile = 2, kLevelBlock = 3 };

// The step of a walker after a word.
struct WordStep {
  StepKind kind = StepKind::kWord;
  int level = 0;
  bool keep_tile = false, keep_row = false, keep_block = false, keep_column = false;
  bool same_scale =
      false;  // the next word of the row (drain: of the column tiles) shares this one's scale
};

// A word. Addresses are those of the word's first element and of its first scale. With a window,
// the address of operand 0 excludes the window position, which the offsets contain.
struct ListedWord {
  size_t pass = 0;
  int64_t row = 0;  // in its group
  int64_t lanes = 0;
  bool first_of_row = true, last_of_row = true, last_of_block = false, last_of_instruction = false;
  bool last_of_scale = true;
  int64_t gap = 0;
  int64_t row_place = 0, accumulator = 0, column = 0;
  std::array<uint64_t, 4> address{}, scale{};  // of operands and (3) the output
  int64_t window_y = 0, window_x = 0;
  uint64_t window_row = 0, window_column = 0, window_scale_row = 0, window_scale_column = 0;
  bool takes_parameters = false, releases_parameters = false;  // drains
  WordStep step;
};

class WordList {
 public:
  WordList(const systolic::Instruction& instruction, const systolic::Config& config)
      : in_(instruction), program_(instruction.vector), config_(config), lanes_(config.lanes()) {
    if (config.block_size > lanes_) sharing_ = config.block_size / lanes_;
    if (in_.opcode == systolic::Opcode::kVector) {
      ListVector();
    } else {
      ListDrains();
    }
    words_.back().last_of_instruction = true;
  }
  const std::vector<ListedWord>& words() const { return words_; }

 private:
  using Outer = systolic::OuterIndex;

  // Returns the outer loop that advances between two rows.
  static int LevelBetween(const Outer& before, const Outer& next) {
    int level = 0;
    while (level < 3 && before[static_cast<size_t>(level)] == next[static_cast<size_t>(level)])
      ++level;
    return level;
  }

  // Sets the addresses of `index` and `outer` in all streams.
  void Locate(const Outer& outer, int64_t index, ListedWord* word) const {
    const bool windowed = program_.window.combine != systolic::Combine::kNone;
    for (size_t s = 0; s < 4; ++s) {
      if (s < 3 && s >= program_.operands.size()) continue;
      const systolic::Stream& stream = s < 3 ? program_.operands[s] : program_.output;
      Outer at = outer;
      if (s == 0 && windowed) at[1] = at[2] = 0;
      word->address[s] = systolic::AddressOf(stream, at, index) & kAddressMask;
      if (!stream.blocks.present) continue;
      int64_t offset = index / config_.block_size * config_.scale_format.bytes();
      for (size_t i = 0; i < systolic::kOuterLoops; ++i)
        offset += at[i] * stream.blocks.outer_stride[i];
      word->scale[s] = (stream.blocks.base + static_cast<uint64_t>(offset)) & kAddressMask;
    }
    if (!windowed) return;
    const systolic::Window& w = program_.window;
    word->window_y = outer[1] * w.stride_y - w.pad_top;
    word->window_x = outer[2] * w.stride_x - w.pad_left;
    const auto offset = [](int64_t places, int64_t stride) {
      return static_cast<uint64_t>(places * stride) & kAddressMask;
    };
    const systolic::BlockScales& blocks = program_.operands[0].blocks;
    word->window_row = offset(word->window_y, w.row_stride);
    word->window_column = offset(word->window_x, w.column_stride);
    word->window_scale_row = offset(word->window_y, blocks.row_stride);
    word->window_scale_column = offset(word->window_x, blocks.column_stride);
  }

  void ListVector() {
    const int64_t words = (program_.length + lanes_ - 1) / lanes_;
    std::vector<Outer> rows;
    Outer outer{};
    for (outer[0] = 0; outer[0] < program_.outer[0]; ++outer[0]) {
      for (outer[1] = 0; outer[1] < program_.outer[1]; ++outer[1]) {
        for (outer[2] = 0; outer[2] < program_.outer[2]; ++outer[2]) {
          for (outer[3] = 0; outer[3] < program_.outer[3]; ++outer[3]) rows.push_back(outer);
        }
      }
    }
    const auto together = static_cast<size_t>(systolic::RowsInFlight(program_, config_));
    for (size_t first = 0; first < rows.size(); first += together) {
      const size_t end = std::min(rows.size(), first + together);
      for (size_t pass = 0; pass < program_.passes.size(); ++pass) {
        for (size_t row = first; row < end; ++row) {
          for (int64_t word = 0; word < words; ++word) {
            ListedWord w;
            w.pass = pass;
            w.row = static_cast<int64_t>(row - first);
            w.row_place = w.row * words + word;
            w.first_of_row = word == 0;
            w.last_of_row = word + 1 == words;
            w.lanes = std::min<int64_t>(lanes_, program_.length - word * lanes_);
            w.last_of_scale = w.last_of_row || (word + 1) % sharing_ == 0;
            Locate(rows[row], word * lanes_, &w);
            const bool ends_group = w.last_of_row && row + 1 == end;
            w.gap = ends_group ? systolic::PassGap(program_, config_, static_cast<int>(pass)) : 0;
            w.step.same_scale = (word + 1) % sharing_ != 0;
            if (!w.last_of_row) {
              w.step.kind = StepKind::kWord;
            } else if (ends_group && pass + 1 < program_.passes.size()) {
              w.step.kind = StepKind::kPass;
            } else {
              w.step.kind = ends_group ? StepKind::kGroup : StepKind::kRow;
              w.step.level = row + 1 == rows.size() ? 0 : LevelBetween(rows[row], rows[row + 1]);
            }
            words_.push_back(w);
          }
        }
      }
    }
    words_.back().last_of_block = true;
  }

  void ListDrains() {
    const std::vector<systolic::Visit> visits = systolic::VisitsOf(in_, config_);
    const bool gathers = program_.output.blocks.present && sharing_ > 1;
    for (size_t k = 0; k < visits.size(); ++k) {
      const systolic::Visit& v = visits[k];
      const int32_t together = gathers ? static_cast<int32_t>(sharing_) : 1;
      for (int32_t first = 0; first < v.columns; first += together) {
        const int32_t end = std::min(v.columns, first + together);
        for (int32_t pixel = 0; pixel < v.pixels(); ++pixel) {
          for (int32_t column = first; column < end; ++column) {
            words_.push_back(DrainWord(v, column, pixel, first, end,
                                       k + 1 < visits.size() ? &visits[k + 1] : nullptr));
          }
        }
      }
    }
  }

  // `first` and `end` limit the column tiles that leave with this word.
  ListedWord DrainWord(const systolic::Visit& v, int32_t column, int32_t pixel, int32_t first,
                       int32_t end, const systolic::Visit* next) const {
    const systolic::Tiling& tiling = in_.tiling;
    const bool weight_outer = tiling.order == systolic::Order::kWeightOuter;
    const int32_t y = pixel / v.width, x = pixel % v.width, tile = v.first_column + column;
    ListedWord w;
    w.column = column;
    w.accumulator =
        int64_t{column} * tiling.tile_height * tiling.tile_width + y * tiling.tile_width + x;
    w.lanes = systolic::ValidColumns(in_, config_, tile);
    w.takes_parameters = v.fetch_parameters;
    w.releases_parameters = v.last_of_parameters;
    w.last_of_scale = (tile + 1) % sharing_ == 0 || column + 1 == v.columns;
    Locate({v.batch, v.y + y, v.x + x, 0}, int64_t{tile} * lanes_, &w);

    const bool last_of_pixel = column + 1 == end, last_x = x + 1 == v.width,
               last_y = y + 1 == v.height;
    w.last_of_block = column + 1 == v.columns && last_x && last_y;
    WordStep& s = w.step;
    s.same_scale = (tile + 1) % sharing_ != 0;
    if (!last_of_pixel) {
      s.kind = StepKind::kWord;
    } else if (!last_x) {
      s.kind = StepKind::kPixel;
    } else if (!last_y) {
      s.kind = StepKind::kPixelRow;
    } else if (column + 1 < v.columns) {
      s.kind = StepKind::kColumn;
    } else {
      s.kind = StepKind::kBlock;
      s.level = next == nullptr ? kLevelBatch : BlockLevelBetween(v, *next, weight_outer);
    }
    // Save the points to which the walk returns: at a tile's first block, for its first column
    // tiles, the ends of the first row and of the last one; at a block's first tile, the end.
    const bool first_of_tile = weight_outer || v.first_column == 0;
    const bool first_columns = first == 0;
    const bool ends_row = last_of_pixel && last_x;
    s.keep_tile = ends_row && y == 0 && first_columns && first_of_tile;
    s.keep_row = ends_row && last_y && first_columns && first_of_tile && v.x == 0;
    s.keep_block = w.last_of_block && (!weight_outer || (v.x == 0 && v.y == 0));
    s.keep_column = program_.output.blocks.present && sharing_ > 1 && last_of_pixel && pixel == 0;
    return w;
  }
  static int BlockLevelBetween(const systolic::Visit& before, const systolic::Visit& next,
                               bool weight_outer) {
    if (next.batch != before.batch) return kLevelBatch;
    if (weight_outer && next.first_column != before.first_column) return kLevelBlock;
    if (next.y != before.y) return kLevelTileRow;
    return next.x != before.x ? kLevelTile : kLevelBlock;
  }

  const systolic::Instruction& in_;
  const systolic::VectorProgram& program_;
  const systolic::Config& config_;
  const int64_t lanes_;
  int64_t sharing_ = 1;  // words of a scale
  std::vector<ListedWord> words_;
};

}  // namespace kiln::rtl

#endif  // KILN_TESTS_RTL_SYSTOLIC_WORD_LIST_H_

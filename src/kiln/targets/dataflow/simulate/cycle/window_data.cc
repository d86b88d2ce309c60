// Shifts columns into the contexts of a window and masks what is outside of the map.

#include "kiln/targets/dataflow/simulate/cycle/window_data.h"

#include <algorithm>

namespace kiln::dataflow {

WindowData::WindowData(const Pipeline& pipeline, const Stage& stage,
                       const std::vector<int64_t>& image)
    : window_(stage.window),
      map_(stage.map),
      lanes_(pipeline.input(stage).lanes),
      words_(map_.channels / lanes_),
      loops_(LoopsOf(pipeline, stage)),
      image_(image),
      contexts_(static_cast<size_t>(words_),
                std::vector<int64_t>(
                    static_cast<size_t>(window_.columns() * window_.kernel_y * lanes_), 0)),
      elements_(static_cast<size_t>(window_.taps() * lanes_)) {}

int64_t WindowData::CodeAt(int64_t y, int64_t x, int64_t channel) const {
  if (y < 0 || y >= map_.height || x >= map_.width) return window_.pad_value;
  return image_[static_cast<size_t>((y * map_.width + x) * map_.channels + channel)];
}

// Shifts the context by one column and appends the column of the inserter's position. Rows and
// columns outside of the map have the padding's code; columns to the left of the map are masked
// when the window is read, because the context then still holds columns of the row before.
void WindowData::Insert(int64_t word) {
  std::vector<int64_t>& context = contexts_[static_cast<size_t>(word)];
  const int64_t column_codes = window_.kernel_y * lanes_;
  std::copy(context.begin() + column_codes, context.end(), context.begin());
  auto to = context.end() - column_codes;
  for (int64_t ky = 0; ky < window_.kernel_y; ++ky) {
    const int64_t y = row_set_ * window_.stride_y - window_.pad_top + ky * window_.dilation_y;
    for (int64_t lane = 0; lane < lanes_; ++lane) *to++ = CodeAt(y, column_, word * lanes_ + lane);
  }
  if (++inserted_ < words_) return;
  inserted_ = 0;
  if (++column_ == map_.width && row_set_ + 1 < window_.out_height) {
    column_ = 0;
    ++row_set_;
  }
}

bool WindowData::NextPixel() {
  int64_t columns = window_.stride_x;
  if (out_x_ < 0) columns = loops_.first_insertions;
  if (++out_x_ == window_.out_width) {
    out_x_ = 0;
    ++out_y_;
    columns = loops_.row_insertions;
  }
  if (out_y_ == window_.out_height) return false;
  if (window_.pointwise()) {
    // The words of pixels between those of the output are discarded.
    row_set_ = out_y_;
    column_ = out_x_ * window_.stride_x;
    return true;
  }
  for (int64_t i = 0; i < (columns - 1) * words_; ++i) Insert(inserted_);
  return true;
}

const std::vector<int64_t>& WindowData::Word(int64_t word, bool insert) {
  if (insert) Insert(word);
  const std::vector<int64_t>& context = contexts_[static_cast<size_t>(word)];
  auto to = elements_.begin();
  for (int64_t ky = 0; ky < window_.kernel_y; ++ky) {
    for (int64_t kx = 0; kx < window_.kernel_x; ++kx) {
      const int64_t x = out_x_ * window_.stride_x - window_.pad_left + kx * window_.dilation_x;
      const auto from =
          context.begin() + (kx * window_.dilation_x * window_.kernel_y + ky) * lanes_;
      if (x < 0 || x >= map_.width) {
        to = std::fill_n(to, lanes_, window_.pad_value);
      } else {
        to = std::copy_n(from, lanes_, to);
      }
    }
  }
  return elements_;
}

}  // namespace kiln::dataflow

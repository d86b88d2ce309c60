// Counts what a machine with one table per digit does for an input.
#include <algorithm>

#include "kiln/targets/binary/tables/convolution.h"

namespace kiln::binary {
namespace {

// Returns how many windows along one axis hold the padded index `at`.
int64_t Uses(int64_t at, int64_t kernel, int64_t stride, int64_t windows) {
  const int64_t last = std::min(at / stride, windows - 1);
  const int64_t first = at < kernel ? 0 : (at - kernel) / stride + 1;
  return std::max<int64_t>(0, last - first + 1);
}

}  // namespace

void TableConvolution::CountImage(const int32_t* image, Builder builder,
                                  TableCounts& counts) const {
  const int size = format_.group, digits = format_.activations.digits();
  const bool by_taps = format_.grouping == Grouping::kTaps;
  const int64_t width = by_taps ? shape_.out_width() : shape_.padded_width();
  const int64_t sites = width * (by_taps ? shape_.out_height() : shape_.padded_height());
  // The last group of a channel (taps) or of a pixel (channels) may be smaller.
  const int64_t row = by_taps ? shape_.taps() : shape_.channels;
  const int64_t row_groups = (row + size - 1) / size;
  const uint32_t mask = (1u << format_.activations.bits) - 1;
  std::vector<int32_t> slots(static_cast<size_t>(SlotsOfSite()));
  for (int64_t site = 0; site < sites; ++site) {
    int64_t uses = 1;
    if (by_taps) {
      GatherWindow(image, site, slots.data());
    } else {
      GatherPixel(image, site / width, site % width, slots.data());
      uses = Uses(site / width, shape_.kernel_height, shape_.stride_y, shape_.out_height()) *
             Uses(site % width, shape_.kernel_width, shape_.stride_x, shape_.out_width());
      if (uses == 0) continue;
    }
    for (int64_t group = 0; group < site_groups_; ++group) {
      uint32_t any = 0;
      for (int j = 0; j < size; ++j) any |= static_cast<uint32_t>(slots[group * size + j]) & mask;
      const auto members =
          static_cast<int>(std::min<int64_t>(size, row - group % row_groups * size));
      for (int q = 0; q < digits; ++q) {
        counts.groups += uses;
        if ((any >> (kDigitBits * q) & 15) == 0) {
          ++counts.gated_tables;
          counts.gated_groups += uses;
        } else {
          ++counts.tables;
          counts.table_additions += BuildAdditions(builder, members);
        }
      }
    }
  }
}

StatusOr<TableCounts> TableConvolution::Count(std::span<const int32_t> input,
                                              Builder builder) const {
  KILN_RETURN_IF_ERROR(CheckInput(input));
  TableCounts counts;
  const int64_t image_size = shape_.input_size() / shape_.batch;
  for (int64_t n = 0; n < shape_.batch; ++n) {
    CountImage(input.data() + n * image_size, builder, counts);
  }
  const int64_t planes = format_.weights.bits, digits = format_.activations.digits();
  const int64_t active = counts.groups - counts.gated_groups;
  const bool base = format_.weights.offset() != 0;
  counts.look_ups = active * planes * shape_.outputs;
  counts.base_look_ups = base ? active : 0;
  counts.accumulations = counts.look_ups + counts.base_look_ups;
  counts.combinations = shape_.output_size() * (planes * digits - 1 + (base ? 1 : 0)) +
                        (base ? shape_.positions() * (digits - 1) : 0);
  counts.plain_additions = shape_.output_size() * shape_.window() * planes * digits;
  return counts;
}

}  // namespace kiln::binary

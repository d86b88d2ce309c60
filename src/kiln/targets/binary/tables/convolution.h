// Convolutions by tables: exact integer sums without multiplications.
//
// Weights are cut into planes of +1 and -1, activations into digits of four bits (planes.h). Groups
// of up to kMaxGroup activations share a table per digit (group_code.h), and each output channel
// looks up one entry per group, plane and digit, and adds it to its sum.
//
// What a group holds:
//   taps      taps of one channel at one position, in the order of the kernel's rows. One table
//             serves all output channels. Runs of zeros in a channel empty whole groups.
//   channels  consecutive channels of one pixel. One table serves all output channels and all
//             positions whose window holds the pixel, so far fewer tables are built.
//
// The software does not repeat every step of the hardware: it keeps full tables (both signs) of 16
// bits, and one look-up serves two digits. Count says what a machine with one look-up per digit
// does. All processor levels and thread counts give the same bits.
#ifndef KILN_TARGETS_BINARY_TABLES_CONVOLUTION_H_
#define KILN_TARGETS_BINARY_TABLES_CONVOLUTION_H_

#include <cstdint>
#include <span>
#include <vector>

#include "kiln/support/cpu.h"
#include "kiln/support/status.h"
#include "kiln/targets/binary/tables/aligned.h"
#include "kiln/targets/binary/tables/builders.h"
#include "kiln/targets/binary/tables/planes.h"

namespace kiln::binary {

// Sizes of a convolution: input [batch][height][width][channels], weights
// [outputs][kernel_height][kernel_width][channels], output [batch][OutHeight][OutWidth][outputs].
// Padding is zeros.
struct WindowShape {
  int64_t batch = 1, height = 1, width = 1, channels = 1;
  int64_t outputs = 1, kernel_height = 1, kernel_width = 1;
  int64_t stride_y = 1, stride_x = 1;
  int64_t top = 0, left = 0, bottom = 0, right = 0;  // rows and columns of padding

  int64_t padded_height() const { return height + top + bottom; }
  int64_t padded_width() const { return width + left + right; }
  int64_t out_height() const { return (padded_height() - kernel_height) / stride_y + 1; }
  int64_t out_width() const { return (padded_width() - kernel_width) / stride_x + 1; }
  int64_t taps() const { return kernel_height * kernel_width; }
  int64_t window() const { return taps() * channels; }
  int64_t positions() const { return batch * out_height() * out_width(); }
  int64_t input_size() const { return batch * height * width * channels; }
  int64_t output_size() const { return positions() * outputs; }
};
// Errors: a size below 1, negative padding, a kernel larger than the padded input, more than 2^22
// inputs per window, or more than 2^30 values of a tensor.
Status CheckShape(const WindowShape& shape);

enum class Grouping { kTaps, kChannels };

// How weights and activations are cut into planes, digits and groups.
struct TableFormat {
  WeightFormat weights;
  ActivationFormat activations;
  int group = 3;  // weights in a group, 1 .. kMaxGroup
  Grouping grouping = Grouping::kTaps;
};

// What a machine with tables does for one input. A group whose digits q are all zero is gated at
// digit q: no table is built and nothing is looked up.
struct TableCounts {
  int64_t tables = 0;           // tables that were built
  int64_t gated_tables = 0;     // tables that were not
  int64_t table_additions = 0;  // additions of the builder in `tables`
  int64_t groups = 0;           // groups of all positions and digits ...
  int64_t gated_groups = 0;     // ... and how many of them are gated
  int64_t look_ups = 0;         // of all planes and output channels
  int64_t base_look_ups = 0;    // with all weights +1: one per group if the offset is not zero
  int64_t accumulations = 0;    // additions of looked-up entries to a sum: one per look-up
  int64_t combinations = 0;     // additions that join the sums of planes, digits and base
  int64_t plain_additions = 0;  // additions of a machine without tables or gates: a weight each,
                                // for each plane and digit
};

class TableConvolution {
 public:
  // Packs the weights. Errors: CheckShape's; formats out of range; a number of weights that does
  // not fit the shape; a weight that the format does not hold.
  static StatusOr<TableConvolution> Create(const WindowShape& shape, const TableFormat& format,
                                           std::span<const int32_t> weights,
                                           CpuLevel level = GetCpuLevel());

  // Computes all outputs, the exact sums of weight times activation. Errors: sizes that do not fit
  // the shape; an activation that the format does not hold; for outputs of 32 bits, formats and a
  // window whose sums may not fit them (Fits32).
  Status Run(std::span<const int32_t> input, std::span<int64_t> output) const;
  Status Run(std::span<const int32_t> input, std::span<int32_t> output) const;
  // Returns whether twice the greatest sum fits 32 bits.
  bool Fits32() const { return fits_32_; }

  // Builds all tables as Run does and looks nothing up, to measure the share of building.
  void BuildOnly(std::span<const int32_t> input) const;

  // Counts the work for one input. Errors: as of Run.
  StatusOr<TableCounts> Count(std::span<const int32_t> input,
                              Builder builder = Builder::kGray) const;

  // Errors: a number of values that does not fit the shape; a value that the format does not hold.
  Status CheckInput(std::span<const int32_t> input) const;

  const WindowShape& shape() const { return shape_; }
  const TableFormat& format() const { return format_; }

 private:
  // The tables of some sites, whose first one is site 0 here.
  struct Band {
    int64_t sites = 0;
    LineVector<int16_t> tables;      // [pass][site][register][32]
    std::vector<int64_t> site_sums;  // [site]: sum of the site's activations
  };
  TableConvolution() = default;

  int64_t RegistersOfSite() const;
  int64_t SlotsOfSite() const;
  void PackCodes(std::span<const int32_t> weights);
  void GatherPixel(const int32_t* image, int64_t y, int64_t x, int32_t* slots) const;
  void GatherWindow(const int32_t* image, int64_t position, int32_t* slots) const;
  Band& BandOfThread(int64_t sites) const;
  // Builds the tables of `count` sites from `first` on, from their slots.
  void BuildSites(const int32_t* slots, int64_t first, int64_t count, Band& band) const;
  // Moves the last `rows` of a band of padded rows to its beginning.
  void KeepRows(int64_t rows, Band& band) const;
  int64_t RowsOfBand() const;
  template <typename Out>
  Status RunImages(std::span<const int32_t> input, std::span<Out> output) const;
  template <typename Out>
  void RunWindows(const int32_t* image, Out* output) const;
  template <typename Out>
  void RunRows(const int32_t* image, Out* output) const;
  template <typename Out>
  void LookUpPositions(const Band& band, std::span<const int64_t> first_site, Out* output) const;
  void AddSums(const int16_t* tables, std::span<const int64_t> places, int plane, int shift,
               int32_t* sums) const;
  void CountImage(const int32_t* image, Builder builder, TableCounts& counts) const;

  WindowShape shape_;
  TableFormat format_;
  CpuLevel level_ = CpuLevel::kPortable;
  int64_t site_groups_ = 0;  // groups of a site: of a position (taps) or of a pixel (channels)
  int64_t padded_outputs_ = 0;
  bool fits_32_ = false;
  std::vector<int64_t> steps_;  // where the tables of a window's groups are, from its first site
  std::vector<int64_t> site_steps_;  // the window's sites, from its first one
  LineVector<uint16_t> codes_;       // [plane][block of channels][step][lane]
};

}  // namespace kiln::binary

#endif  // KILN_TARGETS_BINARY_TABLES_CONVOLUTION_H_

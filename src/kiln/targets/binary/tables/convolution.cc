// Packs weights, builds tables site by site, and looks up blocks of positions.
#include "kiln/targets/binary/tables/convolution.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "kiln/support/check.h"
#include "kiln/support/integer.h"
#include "kiln/support/parallel.h"
#include "kiln/targets/binary/tables/look_up.h"

namespace kiln::binary {
namespace {

using internal::kBlockSites;
using internal::kBlockVectors;
using internal::kLanes;
using internal::RegistersOfTable;
using internal::SlotsOfRegister;
using internal::TablesOfRegister;

constexpr int kPassBits = 2 * kDigitBits;         // bits of an activation that one look-up serves
constexpr int64_t kMaxWindow = int64_t{1} << 22;  // sums of a pass fit 32 bits
constexpr double kMaxValues = 1 << 30;
constexpr int64_t kTile = 64;              // positions whose sums are kept at once
constexpr int64_t kSlice = 128;            // steps whose codes stay in the first cache
constexpr int64_t kBandBytes = 384 << 10;  // tables that stay in the second cache
constexpr int64_t kBandsAtOnce = 4;        // bands of a thread, which share rows
constexpr int64_t kSlotSlack = 16;         // what kernels read beyond the last slot

const internal::Kernels& KernelsOf(CpuLevel level) {
#if defined(__x86_64__)
  if (level >= CpuLevel::kAvx512Vnni) return internal::kAvx512VnniKernels;
#endif
  static_cast<void>(level);
  return internal::kPortableKernels;
}

int PassesOf(const ActivationFormat& format) {
  return static_cast<int>(CeilDivide(format.bits, kPassBits));
}

Status CheckFormat(const TableFormat& format) {
  const auto check = [](const char* key, int value, int most) {
    if (value >= 1 && value <= most) return OkStatus();
    return ErrorAt("", fmt::format("key '{}'", key), fmt::format("{} is out of range", value),
                   fmt::format("use 1 to {}", most));
  };
  KILN_RETURN_IF_ERROR(check("weight_bits", format.weights.bits, kMaxBits));
  KILN_RETURN_IF_ERROR(check("activation_bits", format.activations.bits, kMaxBits));
  return check("group", format.group, kMaxGroup);
}

}  // namespace

Status CheckShape(const WindowShape& shape) {
  const std::pair<const char*, int64_t> sizes[] = {{"batch", shape.batch},
                                                   {"height", shape.height},
                                                   {"width", shape.width},
                                                   {"channels", shape.channels},
                                                   {"outputs", shape.outputs},
                                                   {"kernel_height", shape.kernel_height},
                                                   {"kernel_width", shape.kernel_width},
                                                   {"stride_y", shape.stride_y},
                                                   {"stride_x", shape.stride_x},
                                                   {"top", shape.top + 1},
                                                   {"left", shape.left + 1},
                                                   {"bottom", shape.bottom + 1},
                                                   {"right", shape.right + 1}};
  for (const auto& [key, size] : sizes) {
    const bool padding = &key >= &sizes[9].first;
    if (size >= 1 && size <= int64_t{1} << 24) continue;
    return ErrorAt("", fmt::format("key '{}'", key),
                   fmt::format("{} is out of range", padding ? size - 1 : size),
                   fmt::format("use {} to 2^24", padding ? 0 : 1));
  }
  // In floating point, because the product may not fit 64 bits.
  for (const double values :
       {static_cast<double>(shape.padded_height()) * static_cast<double>(shape.padded_width()) *
            static_cast<double>(shape.channels) * static_cast<double>(shape.batch),
        static_cast<double>(shape.padded_height()) * static_cast<double>(shape.padded_width()) *
            static_cast<double>(shape.outputs) * static_cast<double>(shape.batch)}) {
    if (values <= kMaxValues) continue;
    return ErrorAt("", "key 'height'", fmt::format("a tensor has {:.3g} values", values),
                   fmt::format("use at most {:.0f}", kMaxValues));
  }
  if (shape.kernel_height > shape.padded_height() || shape.kernel_width > shape.padded_width()) {
    return ErrorAt(
        "", "key 'kernel_height'",
        fmt::format("a kernel of {}x{} does not fit the padded input of {}x{}", shape.kernel_height,
                    shape.kernel_width, shape.padded_height(), shape.padded_width()),
        "use a smaller kernel or more padding");
  }
  if (shape.window() > kMaxWindow) {
    return ErrorAt("", "key 'channels'", fmt::format("a window holds {} inputs", shape.window()),
                   fmt::format("use at most {}", kMaxWindow));
  }
  return OkStatus();
}

StatusOr<TableConvolution> TableConvolution::Create(const WindowShape& shape,
                                                    const TableFormat& format,
                                                    std::span<const int32_t> weights,
                                                    CpuLevel level) {
  KILN_RETURN_IF_ERROR(CheckShape(shape));
  KILN_RETURN_IF_ERROR(CheckFormat(format));
  if (std::ssize(weights) != shape.outputs * shape.window()) {
    return ErrorAt("", "weights", fmt::format("{} values do not fit the shape", weights.size()),
                   fmt::format("give {}", shape.outputs * shape.window()));
  }
  for (size_t i = 0; i < weights.size(); ++i) {
    if (format.weights.Holds(weights[i])) continue;
    return ErrorAt("", fmt::format("weight {}", i),
                   fmt::format("{} is no value of the format", weights[i]),
                   fmt::format("use {}", format.weights.Describe()));
  }
  TableConvolution convolution;
  convolution.shape_ = shape;
  convolution.format_ = format;
  convolution.level_ = level;
  convolution.fits_32_ =
      2.0 * std::max(std::abs(format.weights.lowest()), format.weights.highest()) *
          std::max(std::abs(format.activations.lowest()), format.activations.highest()) *
          static_cast<double>(shape.window()) <
      2147483648.0;
  convolution.PackCodes(weights);
  return convolution;
}

int64_t TableConvolution::RegistersOfSite() const {
  return CeilDivide(site_groups_, TablesOfRegister(format_.group)) *
         RegistersOfTable(format_.group);
}

int64_t TableConvolution::SlotsOfSite() const {
  return CeilDivide(site_groups_, TablesOfRegister(format_.group)) * SlotsOfRegister(format_.group);
}

void TableConvolution::PackCodes(std::span<const int32_t> weights) {
  const int size = format_.group, per_register = TablesOfRegister(size);
  const bool by_taps = format_.grouping == Grouping::kTaps;
  const int64_t taps = shape_.taps(), channels = shape_.channels;
  const int64_t tap_groups = CeilDivide(taps, size);
  site_groups_ = by_taps ? channels * tap_groups : CeilDivide(channels, size);
  const int64_t sites = by_taps ? 1 : taps, registers = RegistersOfSite();
  for (int64_t site = 0; site < sites; ++site) {
    site_steps_.push_back(by_taps ? 0
                                  : site / shape_.kernel_width * shape_.padded_width() +
                                        site % shape_.kernel_width);
    for (int64_t group = 0; group < site_groups_; ++group) {
      steps_.push_back(
          (site_steps_.back() * registers + group / per_register * RegistersOfTable(size)) *
          kLanes);
    }
  }
  constexpr int64_t kBlock = kBlockVectors * kLanes;
  padded_outputs_ = RoundUp(shape_.outputs, kLanes);
  const int64_t step_count = std::ssize(steps_);
  codes_.assign(static_cast<size_t>(format_.weights.bits * step_count * padded_outputs_), 0);
  for (int64_t n = 0; n < shape_.outputs; ++n) {
    const int64_t block = n / kBlock * kBlock;
    const int64_t lanes = std::min(kBlock, padded_outputs_ - block);
    const int64_t channel = n % kLanes;
    const int64_t lane = (n - block) / kLanes * kLanes +
                         (channel < kLanes / 2 ? 2 * channel : 2 * channel - kLanes + 1);
    for (int64_t step = 0; step < step_count; ++step) {
      const int64_t site = step / site_groups_, group = step % site_groups_;
      for (int p = 0; p < format_.weights.bits; ++p) {
        uint32_t code = static_cast<uint32_t>(group % per_register) << size;
        for (int j = 0; j < size; ++j) {
          const int64_t tap = by_taps ? group % tap_groups * size + j : site;
          const int64_t c = by_taps ? group / tap_groups : group * size + j;
          if (tap >= taps || c >= channels) break;
          const int32_t w = weights[static_cast<size_t>((n * taps + tap) * channels + c)];
          code |= (format_.weights.PlanesOf(w) >> p & 1) << j;
        }
        codes_[static_cast<size_t>(p * step_count * padded_outputs_ + block * step_count +
                                   step * lanes + lane)] = static_cast<uint16_t>(code);
      }
    }
  }
}

Status TableConvolution::CheckInput(std::span<const int32_t> input) const {
  if (std::ssize(input) != shape_.input_size()) {
    return ErrorAt("", "input", fmt::format("{} values do not fit the shape", input.size()),
                   fmt::format("give {}", shape_.input_size()));
  }
  const int32_t lowest = format_.activations.lowest(), highest = format_.activations.highest();
  // A value below or above the range has a bit that no value in the range has.
  uint32_t any = 0;
  for (int32_t value : input) any |= static_cast<uint32_t>(value) - static_cast<uint32_t>(lowest);
  if (any >> format_.activations.bits == 0) return OkStatus();
  const auto bad = std::find_if(input.begin(), input.end(),
                                [&](int32_t value) { return value < lowest || value > highest; });
  return ErrorAt("", fmt::format("input {}", bad - input.begin()),
                 fmt::format("{} is no value of the format", *bad),
                 fmt::format("use {} to {}", lowest, highest));
}

void TableConvolution::GatherPixel(const int32_t* image, int64_t y, int64_t x,
                                   int32_t* slots) const {
  y -= shape_.top;
  x -= shape_.left;
  if (y < 0 || y >= shape_.height || x < 0 || x >= shape_.width) {
    std::fill_n(slots, shape_.channels, 0);
  } else {
    std::copy_n(image + (y * shape_.width + x) * shape_.channels, shape_.channels, slots);
  }
}

// Slots of a position are [channel][tap], with the taps padded to whole groups.
void TableConvolution::GatherWindow(const int32_t* image, int64_t position, int32_t* slots) const {
  const int64_t padded_taps = RoundUp(shape_.taps(), format_.group);
  const int64_t y = position / shape_.out_width() * shape_.stride_y - shape_.top;
  const int64_t x = position % shape_.out_width() * shape_.stride_x - shape_.left;
  int64_t tap = 0;
  for (int64_t ky = y; ky < y + shape_.kernel_height; ++ky) {
    for (int64_t kx = x; kx < x + shape_.kernel_width; ++kx, ++tap) {
      const bool outside = ky < 0 || ky >= shape_.height || kx < 0 || kx >= shape_.width;
      const int32_t* pixel = image + (outside ? 0 : (ky * shape_.width + kx) * shape_.channels);
      for (int64_t c = 0; c < shape_.channels; ++c) {
        slots[c * padded_taps + tap] = outside ? 0 : pixel[c];
      }
    }
  }
}

// Bands are large, so each thread keeps its memory.
TableConvolution::Band& TableConvolution::BandOfThread(int64_t sites) const {
  thread_local Band band;
  band.sites = sites;
  band.tables.resize(
      static_cast<size_t>(PassesOf(format_.activations) * sites * RegistersOfSite() * kLanes));
  band.site_sums.resize(static_cast<size_t>(sites));
  return band;
}

void TableConvolution::BuildSites(const int32_t* slots, int64_t first, int64_t count,
                                  Band& band) const {
  const int64_t site_slots = SlotsOfSite(), values = count * site_slots;
  const int64_t registers = RegistersOfSite();
  thread_local std::vector<int16_t> narrow;
  narrow.resize(static_cast<size_t>(values + kSlotSlack));
  const int passes = PassesOf(format_.activations);
  for (int pass = 0; pass < passes; ++pass) {
    const int shift = kPassBits * pass;
    const int32_t mask = pass + 1 < passes ? (1 << kPassBits) - 1 : -1;
    KernelsOf(level_).narrow(slots, values, shift, mask, narrow.data());
    KernelsOf(level_).build(format_.group, narrow.data(),
                            count * registers / RegistersOfTable(format_.group),
                            band.tables.data() + (pass * band.sites + first) * registers * kLanes);
  }
  if (format_.weights.offset() == 0) return;
  for (int64_t site = 0; site < count; ++site) {
    int64_t sum = 0;
    for (int64_t i = 0; i < site_slots; ++i) sum += slots[site * site_slots + i];
    band.site_sums[static_cast<size_t>(first + site)] = sum;
  }
}

void TableConvolution::KeepRows(int64_t rows, Band& band) const {
  const int64_t sites = rows * shape_.padded_width(), first = band.sites - sites;
  const int64_t site_size = RegistersOfSite() * kLanes;
  for (int pass = 0; pass < PassesOf(format_.activations); ++pass) {
    int16_t* tables = band.tables.data() + pass * band.sites * site_size;
    std::copy(tables + first * site_size, tables + band.sites * site_size, tables);
  }
  std::copy(band.site_sums.begin() + first, band.site_sums.end(), band.site_sums.begin());
}

// Adds the sums of one plane times 2^shift to sums[position][padded output]. A slice of the steps
// serves all positions before the next one, so that its codes stay in the first cache.
void TableConvolution::AddSums(const int16_t* tables, std::span<const int64_t> places, int plane,
                               int shift, int32_t* sums) const {
  constexpr int64_t kBlock = kBlockVectors * kLanes;
  const auto positions = std::ssize(places), step_count = std::ssize(steps_);
  const int64_t highest = int64_t{1} << std::min(kPassBits, format_.activations.bits);
  for (int64_t block = 0; block < padded_outputs_; block += kBlock) {
    const int64_t lanes = std::min(kBlock, padded_outputs_ - block);
    const uint16_t* codes = codes_.data() + (plane * padded_outputs_ + block) * step_count;
    for (int64_t slice = 0; slice < step_count; slice += kSlice) {
      internal::LookUpArguments arguments;
      arguments.tables = tables;
      arguments.steps = steps_.data() + slice;
      arguments.step_count = std::min(kSlice, step_count - slice);
      arguments.steps_per_flush = INT16_MAX / (format_.group * highest);
      arguments.codes = codes + slice * lanes;
      arguments.shift = shift;
      arguments.out_stride = padded_outputs_;
      const auto vectors = static_cast<int>(lanes / kLanes);
      for (int64_t p = 0; p < positions; p += kBlockSites) {
        arguments.sites = places.data() + p;
        arguments.out = sums + p * padded_outputs_ + block;
        KernelsOf(level_).look_up(format_.group,
                                  static_cast<int>(std::min<int64_t>(kBlockSites, positions - p)),
                                  vectors, arguments);
      }
    }
  }
}

// Writes the outputs of some positions, at most kTile, whose windows begin at `first_site`. Planes
// and passes are added in 32 bits if the whole sum fits them, otherwise one by one in 64 bits.
template <typename Out>
void TableConvolution::LookUpPositions(const Band& band, std::span<const int64_t> first_site,
                                       Out* output) const {
  const int64_t site_size = RegistersOfSite() * kLanes, outputs = shape_.outputs;
  const WeightFormat& weights = format_.weights;
  const auto positions = std::ssize(first_site);
  int64_t places[kTile], bases[kTile];
  for (int64_t p = 0; p < positions; ++p) {
    const int64_t first = first_site[static_cast<size_t>(p)];
    int64_t base = 0;
    if (weights.offset() != 0) {
      for (int64_t step : site_steps_) base += band.site_sums[static_cast<size_t>(first + step)];
    }
    bases[p] = weights.offset() * base;
    places[p] = first * site_size;
  }
  thread_local LineVector<int32_t> sums;
  sums.assign(static_cast<size_t>(positions * padded_outputs_), 0);
  const int passes = PassesOf(format_.activations);
  const bool at_once =
      fits_32_ && weights.bits - 1 + kPassBits * (passes - 1) <= internal::kMaxShift;
  if (!at_once) {
    for (int64_t p = 0; p < positions; ++p) {
      std::fill_n(output + p * outputs, outputs, static_cast<Out>(bases[p]));
    }
  }
  for (int pass = 0; pass < passes; ++pass) {
    const int16_t* tables = band.tables.data() + pass * band.sites * site_size;
    for (int plane = 0; plane < weights.bits; ++plane) {
      const int shift = plane + kPassBits * pass;
      AddSums(tables, {places, static_cast<size_t>(positions)}, plane, at_once ? shift : 0,
              sums.data());
      if (at_once) continue;
      for (int64_t p = 0; p < positions; ++p) {
        const int32_t* from = sums.data() + p * padded_outputs_;
        Out* to = output + p * outputs;
        for (int64_t n = 0; n < outputs; ++n) {
          to[n] = static_cast<Out>(static_cast<uint64_t>(to[n]) +
                                   (static_cast<uint64_t>(from[n]) << shift));
        }
      }
      std::fill(sums.begin(), sums.end(), 0);
    }
  }
  const int halve = weights.scale() == 1 ? 0 : 1;  // twice a sum is even, so this is exact
  if (at_once) {
    for (int64_t p = 0; p < positions; ++p) {
      const int32_t* from = sums.data() + p * padded_outputs_;
      // Wraps as the sums do; the total fits.
      const auto base = static_cast<uint32_t>(bases[p]);
      for (int64_t n = 0; n < outputs; ++n) {
        output[p * outputs + n] =
            static_cast<int32_t>(static_cast<uint32_t>(from[n]) + base) >> halve;
      }
    }
  } else if (halve != 0) {
    for (int64_t i = 0; i < positions * outputs; ++i) output[i] >>= 1;
  }
}

// Groups of taps: every position has tables of its own, which a tile of positions builds and uses.
template <typename Out>
void TableConvolution::RunWindows(const int32_t* image, Out* output) const {
  ParallelFor(shape_.out_height() * shape_.out_width(), kTile, [&](int64_t begin, int64_t end) {
    Band& band = BandOfThread(end - begin);
    int64_t first_site[kTile];
    std::vector<int32_t> slots(static_cast<size_t>(SlotsOfSite()));
    for (int64_t site = 0; site < band.sites; ++site) {
      first_site[site] = site;
      GatherWindow(image, begin + site, slots.data());
      BuildSites(slots.data(), site, 1, band);
    }
    if (output == nullptr) return;
    LookUpPositions(band, {first_site, static_cast<size_t>(band.sites)},
                    output + begin * shape_.outputs);
  });
}

// Returns the rows of outputs whose tables are kept at once.
int64_t TableConvolution::RowsOfBand() const {
  const int64_t row = shape_.padded_width() * RegistersOfSite() * kLanes *
                      PassesOf(format_.activations) * static_cast<int64_t>(sizeof(int16_t));
  const int64_t rows = std::max(kBandBytes / row, shape_.kernel_height);
  return std::min((rows - shape_.kernel_height) / shape_.stride_y + 1, shape_.out_height());
}

// Groups of channels: bands of rows, one after the other. A band keeps the rows of tables that it
// shares with the one before.
template <typename Out>
void TableConvolution::RunRows(const int32_t* image, Out* output) const {
  const int64_t band_rows = RowsOfBand(), width = shape_.padded_width();
  const int64_t kept = std::max<int64_t>(0, shape_.kernel_height - shape_.stride_y);
  const int64_t rows = (band_rows - 1) * shape_.stride_y + shape_.kernel_height;
  ParallelFor(shape_.out_height(), band_rows * kBandsAtOnce, [&](int64_t begin, int64_t end) {
    Band& band = BandOfThread(rows * width);
    std::vector<int32_t> slots(static_cast<size_t>(width * SlotsOfSite()), 0);
    for (int64_t y = begin; y < end; y += band_rows) {
      if (y != begin) KeepRows(kept, band);
      const int64_t count = std::min(band_rows, end - y);
      const int64_t needed = (count - 1) * shape_.stride_y + shape_.kernel_height;
      for (int64_t row = y == begin ? 0 : kept; row < needed; ++row) {
        for (int64_t x = 0; x < width; ++x) {
          GatherPixel(image, y * shape_.stride_y + row, x, slots.data() + x * SlotsOfSite());
        }
        BuildSites(slots.data(), row * width, width, band);
      }
      if (output == nullptr) continue;
      const int64_t positions = count * shape_.out_width();
      for (int64_t first = 0; first < positions; first += kTile) {
        int64_t first_site[kTile];
        const int64_t tile = std::min(kTile, positions - first);
        for (int64_t p = 0; p < tile; ++p) {
          const int64_t at = first + p;
          first_site[p] = at / shape_.out_width() * shape_.stride_y * width +
                          at % shape_.out_width() * shape_.stride_x;
        }
        LookUpPositions(band, {first_site, static_cast<size_t>(tile)},
                        output + (y * shape_.out_width() + first) * shape_.outputs);
      }
    }
  });
}

template <typename Out>
Status TableConvolution::RunImages(std::span<const int32_t> input, std::span<Out> output) const {
  KILN_RETURN_IF_ERROR(CheckInput(input));
  if (std::ssize(output) != shape_.output_size()) {
    return ErrorAt("", "output", fmt::format("{} values do not fit the shape", output.size()),
                   fmt::format("give {}", shape_.output_size()));
  }
  for (int64_t n = 0; n < shape_.batch; ++n) {
    const int32_t* image = input.data() + n * shape_.input_size() / shape_.batch;
    Out* out = output.data() + n * shape_.output_size() / shape_.batch;
    format_.grouping == Grouping::kTaps ? RunWindows(image, out) : RunRows(image, out);
  }
  return OkStatus();
}

Status TableConvolution::Run(std::span<const int32_t> input, std::span<int64_t> output) const {
  return RunImages(input, output);
}

Status TableConvolution::Run(std::span<const int32_t> input, std::span<int32_t> output) const {
  if (!fits_32_) {
    return ErrorAt("", "output", "sums of this window may need more than 32 bits",
                   "use outputs of 64 bits");
  }
  return RunImages(input, output);
}

void TableConvolution::BuildOnly(std::span<const int32_t> input) const {
  KILN_CHECK(CheckInput(input).ok());
  for (int64_t n = 0; n < shape_.batch; ++n) {
    const int32_t* image = input.data() + n * shape_.input_size() / shape_.batch;
    int32_t* none = nullptr;
    format_.grouping == Grouping::kTaps ? RunWindows(image, none) : RunRows(image, none);
  }
}

}  // namespace kiln::binary

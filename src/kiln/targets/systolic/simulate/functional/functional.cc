// Executes instructions on host memory: products with the kernels of execute/int8_gemm.h and
// execute/mac_gemm.h, vector programs with VectorEngine.
#include "kiln/targets/systolic/simulate/functional/functional.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "fmt/format.h"
#include "kiln/execute/int8_gemm.h"
#include "kiln/execute/mac_gemm.h"
#include "kiln/support/check.h"
#include "kiln/support/integer.h"
#include "kiln/support/parallel.h"
#include "kiln/targets/systolic/config/user_unit.h"
#include "kiln/targets/systolic/simulate/functional/functional_order.h"
#include "kiln/targets/systolic/simulate/functional/vector_engine.h"
#include "kiln/targets/systolic/simulate/run_steps.h"

namespace kiln::systolic {
namespace {

constexpr int64_t kStripBytes = 128 * 1024;          // limit of the padded image on which one task
                                                     // works
constexpr int64_t kSumBytes = 96 * 1024;             // limit of the sums of one pixel tile
constexpr int64_t kMaxHostBytes = int64_t{1} << 32;  // limit of any one buffer
constexpr int64_t kVectorGrain = 16384;              // elements per task of a vector instruction

// Buffers of one task. A task never waits for another one, so each thread may keep its own.
struct Workspace {
  std::vector<uint8_t> strip;
  std::vector<float> scales;
  std::vector<int64_t> pixels, scale_pixels;
  std::vector<int32_t> sums, channel_sums;
  std::vector<float> values, channel;
};

template <typename T>
T* Reserve(std::vector<T>& buffer, int64_t count) {
  if (static_cast<int64_t>(buffer.size()) < count) buffer.resize(static_cast<size_t>(count));
  return buffer.data();
}

// Returns a convolution in the form that the kernels use. A matrix product (one image row) is
// transposed, so that its rows are image rows and can be distributed over threads.
Convolution Upright(Convolution c) {
  if (c.height == 1 && c.out_height == 1 && c.kernel_y == 1 && c.pad_top == 0) {
    std::swap(c.height, c.width);
    std::swap(c.out_height, c.out_width);
    std::swap(c.kernel_y, c.kernel_x);
    std::swap(c.stride_y, c.stride_x);
    std::swap(c.dilation_y, c.dilation_x);
    std::swap(c.pad_top, c.pad_left);
    std::swap(c.input_row_stride, c.input_column_stride);
    std::swap(c.input_scales.row_stride, c.input_scales.column_stride);
  }
  return c;
}

// Returns [taps * channels][out_channels] codes from the tiles or the strided matrix of one batch.
std::vector<int8_t> DenseWeights(const Instruction& instruction, const Config& config,
                                 const uint8_t* at) {
  const Convolution& c = instruction.convolution;
  const int64_t columns = c.out_channels;
  std::vector<int8_t> dense(static_cast<size_t>(int64_t{c.taps()} * c.channels * columns));
  if (c.weight_layout == WeightLayout::kStrided) {
    for (int64_t k = 0; k < int64_t{c.taps()} * c.channels; ++k) {
      for (int64_t n = 0; n < columns; ++n) {
        dense[static_cast<size_t>(k * columns + n)] =
            static_cast<int8_t>(at[k * c.weight_row_stride + n * c.weight_column_stride]);
      }
    }
    return dense;
  }
  const int64_t row_tiles = RowTileCount(instruction, config);
  for (int64_t first = 0; first < columns; first += config.array_columns) {
    const auto valid =
        static_cast<size_t>(std::min<int64_t>(config.array_columns, columns - first));
    ForEachArrayRow(instruction, config, [&](int64_t row_tile, int64_t row, int64_t entry) {
      std::memcpy(dense.data() + entry * columns + first,
                  at + (row_tile * config.array_rows + row) * config.array_columns, valid);
    });
    at += row_tiles * config.array_rows * config.array_columns;
  }
  return dense;
}

// Returns [taps][channels] codes from the column tiles of a depthwise instruction.
std::vector<int8_t> DenseDepthwiseWeights(const Convolution& c, int64_t lanes, const uint8_t* at) {
  std::vector<int8_t> dense(static_cast<size_t>(int64_t{c.taps()} * c.channels));
  for (int64_t first = 0; first < c.channels; first += lanes) {
    const auto valid = static_cast<size_t>(std::min(lanes, c.channels - first));
    for (int64_t tap = 0; tap < c.taps(); ++tap, at += lanes) {
      std::memcpy(dense.data() + tap * c.channels + first, at, valid);
    }
  }
  return dense;
}

// Returns packed rows of `columns` codes of `bits` bits with each code in whole bytes, as the
// format stores it.
std::vector<uint8_t> Unpacked(const uint8_t* at, int64_t rows, int64_t columns, int bits,
                              const Format& format) {
  const int bytes = format.bytes();
  std::vector<uint8_t> whole(static_cast<size_t>(rows * columns * bytes));
  uint8_t* to = whole.data();
  for (int64_t row = 0; row < rows; ++row) {
    uint32_t ahead = 0;  // bits that have been read and not been used
    int count = 0;
    for (int64_t column = 0; column < columns; ++column, to += bytes) {
      if (count < bits) {
        ahead |= uint32_t{*at++} << count;
        count += 8;
      }
      const uint32_t code = ahead & ((1U << bits) - 1), sign = 1U << (bits - 1);
      StoreBits(format.is_integer() ? (code ^ sign) - sign : code, bytes, to);
      ahead >>= bits;
      count -= bits;
    }
  }
  return whole;
}

// Codes in the order of the machine, row tile by row tile: [elements][columns] as they are in
// memory. The scales of each row tile are [row tiles][columns], 1 if there are no scales.
struct OrderedWeights {
  std::vector<uint8_t> codes;
  std::vector<float> scales;
};

OrderedWeights OrderWeights(const Instruction& instruction, const Config& config,
                            const FormatTable& scale_table, const uint8_t* codes,
                            const uint8_t* scales) {
  const Convolution& c = instruction.convolution;
  const int64_t row_tiles = RowTileCount(instruction, config);
  const int64_t columns = c.out_channels, bytes = config.weight_format.bytes();
  const int64_t scale_bytes = config.scale_format.bytes();
  const int64_t tile_codes = config.macs_per_cycle();
  OrderedWeights out;
  out.codes.resize(static_cast<size_t>(int64_t{c.taps()} * c.channels * columns * bytes));
  out.scales.assign(static_cast<size_t>(row_tiles * columns), 1.0f);
  uint8_t* to = out.codes.data();
  ForEachArrayRow(instruction, config, [&](int64_t row_tile, int64_t row, int64_t entry) {
    for (int64_t n = 0; n < columns; ++n, to += bytes) {
      const int64_t tile = n / config.array_columns * row_tiles + row_tile;
      const int64_t from =
          c.weight_layout == WeightLayout::kStrided
              ? entry * c.weight_row_stride + n * c.weight_column_stride
              : (tile * tile_codes + row * config.array_columns + n % config.array_columns) * bytes;
      std::memcpy(to, codes + from, static_cast<size_t>(bytes));
    }
    if (row > 0 || !c.weight_scales.present) return;
    const int64_t block = entry % c.channels / config.block_size;
    for (int64_t n = 0; n < columns; ++n) {
      const int64_t tile = n / config.array_columns * row_tiles + row_tile;
      const int64_t from =
          c.weight_layout == WeightLayout::kStrided
              ? n * c.weight_scales.column_stride + block * scale_bytes
              : (tile * config.array_columns + n % config.array_columns) * scale_bytes;
      scale_table.DecodeCodes(scales + from, 1, out.scales.data() + row_tile * columns + n);
    }
  });
  return out;
}

// Weights of one batch, for a matrix or a depthwise instruction.
struct Weights {
  std::unique_ptr<PackedWeights> matrix;
  std::vector<int32_t> depthwise;
  std::vector<int8_t> user;                            // [taps][channels]
  std::vector<std::unique_ptr<const MacWeights>> mac;  // one, or for depthwise one per channel
};

// Channel parameters of one batch, padded with the slack that the vector kernels need.
struct Parameters {
  Parameters(const Convolution& c, const Numbers& numbers, int64_t batch, const uint8_t* memory) {
    const auto entries = static_cast<size_t>(c.out_channels);
    const uint8_t* at = memory + c.parameters.base + batch * c.parameter_batch_stride;
    const size_t padded = entries + static_cast<size_t>(kFloatSlack);
    offset.resize(padded);
    scale.resize(padded);
    bias.resize(padded);
    std::memcpy(offset.data(), at, entries * 4);
    std::memcpy(scale.data(), at + entries * 4, entries * 4);
    std::memcpy(bias.data(), at + entries * 8, entries * 4);
    numbers.Round(scale.data(), std::ssize(scale));
    numbers.Round(bias.data(), std::ssize(bias));
  }
  std::vector<int32_t> offset;
  std::vector<float> scale, bias;
};

}  // namespace

// One instruction with everything that is prepared for it.
class FunctionalMachine::Kernel {
 public:
  Kernel(const Instruction& instruction, const Numbers& numbers)
      : instruction_(instruction),
        numbers_(numbers),
        config_(numbers.config()),
        engine_(instruction_.vector, numbers) {}

  // Error: buffers of a size that no reasonable program needs.
  Status Prepare(uint64_t constants_base, std::span<const uint8_t> constants) {
    if (!HasArray()) return OkStatus();
    c_ = Upright(instruction_.convolution);
    const int64_t dense = int64_t{c_.taps()} * c_.channels * (IsDepthwise() ? 1 : c_.out_channels);
    padded_width_ =
        int64_t{c_.out_width - 1} * c_.stride_x + int64_t{c_.kernel_x - 1} * c_.dilation_x + 1;
    row_codes_ = padded_width_ * c_.channels;  // below 2^50, as CheckInstruction bounds both
    const int64_t extent_y = int64_t{c_.kernel_y - 1} * c_.dilation_y + 1;
    if (dense > kMaxHostBytes || row_codes_ > kMaxHostBytes ||
        row_codes_ * extent_y > kMaxHostBytes) {
      return ErrorAt("", "",
                     fmt::format("weights of {} codes, image rows of {} codes", dense, row_codes_),
                     fmt::format("at most {}", kMaxHostBytes));
    }
    const bool merge = c_.dilation_x == 1 && !IsDepthwise();
    for (int64_t ky = 0; ky < c_.kernel_y; ++ky) {
      for (int64_t kx = 0; kx < (merge ? 1 : c_.kernel_x); ++kx) {
        run_offsets_.push_back(ky * c_.dilation_y * row_codes_ + kx * c_.dilation_x * c_.channels);
      }
    }
    run_length_ = merge ? int64_t{c_.kernel_x} * c_.channels : c_.channels;
    layout_ = IsDepthwise() ? CodeLayout::kRaw : LayoutOf(level_);
    operand_bytes_ = BytesOf(layout_);
    sum_stride_ = RoundUp(c_.out_channels, 16);
    if (!IsInt8()) PrepareMac();

    // Constant weights are packed once for all images.
    const int64_t sets = WeightSets();
    const uint64_t begin = c_.weight_base;
    const uint64_t end =
        begin + static_cast<uint64_t>((sets - 1) * c_.weight_batch_stride + WeightBytes());
    const OperandScales& s = c_.weight_scales;
    const uint64_t scale_end =
        s.base + static_cast<uint64_t>((sets - 1) * s.batch_stride + ScaleBytes());
    const bool scales_constant = !s.present || (s.batch_stride >= 0 && s.base >= constants_base &&
                                                scale_end <= constants_base + constants.size());
    if (c_.weight_batch_stride >= 0 && begin >= constants_base &&
        end <= constants_base + constants.size() && scales_constant) {
      for (int64_t set = 0; set < sets; ++set) {
        const uint8_t* scales = constants.data() - constants_base + c_.weight_scales.base;
        weights_.push_back(Pack(
            constants.data() + (begin - constants_base) + set * c_.weight_batch_stride,
            c_.weight_scales.present ? scales + set * c_.weight_scales.batch_stride : nullptr));
      }
    }
    return OkStatus();
  }

  void Run(bool parallel, uint8_t* memory) const {
    if (instruction_.opcode == Opcode::kEnd) return;
    if (HasArray()) {
      for (int64_t batch = 0; batch < c_.batch; ++batch) RunBatch(batch, parallel, memory);
      return;
    }
    const int64_t rows = engine_.rows();
    const int64_t grain = parallel ? std::max<int64_t>(kVectorGrain / engine_.length(), 1) : rows;
    ParallelFor(rows, grain, [&](int64_t begin, int64_t end) {
      engine_.Run(begin, end - begin, nullptr, memory);
    });
  }

 private:
  bool IsDepthwise() const { return instruction_.opcode == Opcode::kDepthwise; }
  const Format& InputFormat() const { return config_.input_format_of(instruction_.precision); }
  const Format& WeightFormat() const { return config_.weight_format_of(instruction_.precision); }
  bool IsInt8() const { return SumsSignedBytes(AtPrecision(config_, instruction_.precision)); }
  bool IsScaled() const { return c_.input_scales.present || c_.weight_scales.present; }

  // Prepares the kernel for the array's arithmetic, and the order in which it walks the reduction.
  void PrepareMac() {
    KILN_CHECK(!instruction_.user_unit);  // a user unit's function takes int8 only
    MacRule rule = RuleOf(AtPrecision(config_, instruction_.precision), IsScaled());
    const int64_t psum_taps = DepthwisePsumTaps(config_, c_.taps());
    // The depthwise unit adds up its psums in their own format, and the accumulator takes the sum.
    if (IsDepthwise() && psum_taps < c_.taps()) {
      accumulation_of_total_ = FormatTable::Of(rule.accumulation);
      rule.accumulation = rule.psum;
    }
    mac_ = MacKernel::Create(level_, rule);
    operand_bytes_ = mac_->operand_bytes();
    blocks_ = IsScaled() ? CeilDivide(c_.channels, config_.block_size) : 0;
    const auto place = [&](int64_t tap, int64_t channel, int64_t row_length, int64_t pixel_length) {
      return tap / c_.kernel_x * c_.dilation_y * row_length +
             tap % c_.kernel_x * c_.dilation_x * pixel_length + channel;
    };
    if (IsDepthwise()) {
      for (int64_t tap = 0; tap < c_.taps(); ++tap)
        order_.offsets.push_back(place(tap, 0, row_codes_, c_.channels));
      for (int64_t tap = 0; tap < c_.taps(); tap += psum_taps)
        order_.tile_sizes.push_back(std::min(psum_taps, c_.taps() - tap));
      return;
    }
    ForEachArrayRow(instruction_, config_, [&](int64_t, int64_t row, int64_t entry) {
      const int64_t tap = entry / c_.channels, channel = entry % c_.channels;
      order_.offsets.push_back(place(tap, channel, row_codes_, c_.channels));
      if (row == 0) order_.tile_sizes.push_back(0);
      ++order_.tile_sizes.back();
      if (row > 0 || !IsScaled()) return;
      order_.scale_offsets.push_back(
          place(tap, channel / config_.block_size, padded_width_ * blocks_, blocks_));
    });
  }

  bool HasArray() const { return instruction_.opcode == Opcode::kMatrix || IsDepthwise(); }
  int64_t ColumnTiles() const { return CeilDivide(c_.out_channels, config_.array_columns); }
  int64_t WeightSets() const { return c_.weight_batch_stride == 0 ? 1 : c_.batch; }
  // Returns the rows of C codes in a set of tiled weights.
  int64_t WeightRows() const {
    return ColumnTiles() * (IsDepthwise()
                                ? int64_t{c_.taps()}
                                : RowTileCount(instruction_, config_) * config_.array_rows);
  }
  int64_t WeightBytes() const {
    if (c_.weight_layout == WeightLayout::kStrided) {
      // A negative stride reaches below the base: compiled programs have no such constants.
      if (c_.weight_row_stride < 0 || c_.weight_column_stride < 0) return kMaxHostBytes;
      const int64_t rows = int64_t{c_.taps()} * c_.channels;
      return (rows - 1) * c_.weight_row_stride + (c_.out_channels - 1) * c_.weight_column_stride +
             WeightFormat().bytes();
    }
    const int64_t columns = config_.array_columns;
    return WeightRows() * (c_.weight_bits == 0 ? columns * WeightFormat().bytes()
                                               : CeilDivide(columns * c_.weight_bits, 8));
  }
  int64_t ScaleBytes() const {
    const int64_t bytes = config_.scale_format.bytes();
    if (c_.weight_layout == WeightLayout::kStrided) {
      if (c_.weight_scales.column_stride < 0) return kMaxHostBytes;
      return (c_.out_channels - 1) * c_.weight_scales.column_stride +
             CeilDivide(c_.channels, config_.block_size > 0 ? config_.block_size : 1) * bytes;
    }
    return ColumnTiles() * RowTileCount(instruction_, config_) * config_.array_columns * bytes;
  }

  Weights PackMac(const uint8_t* at, const uint8_t* scales) const {
    Weights weights;
    if (!IsDepthwise()) {
      const OrderedWeights ordered =
          OrderWeights(instruction_, config_, *FormatTable::Of(config_.scale_format), at, scales);
      weights.mac.push_back(mac_->Pack(order_, c_.out_channels, ordered.codes.data(),
                                       IsScaled() ? ordered.scales.data() : nullptr));
      return weights;
    }
    const int64_t bytes = WeightFormat().bytes(), lanes = config_.lanes();
    std::vector<uint8_t> taps(static_cast<size_t>(c_.taps() * bytes));
    for (int64_t channel = 0; channel < c_.channels; ++channel) {
      for (int64_t tap = 0; tap < c_.taps(); ++tap) {
        const int64_t code = (channel / lanes * c_.taps() + tap) * lanes + channel % lanes;
        std::memcpy(taps.data() + tap * bytes, at + code * bytes, static_cast<size_t>(bytes));
      }
      weights.mac.push_back(mac_->Pack(order_, 1, taps.data(), nullptr));
    }
    return weights;
  }

  Weights Pack(const uint8_t* at, const uint8_t* scales) const {
    if (c_.weight_bits == 0) return PackWhole(at, scales);
    return PackWhole(
        Unpacked(at, WeightRows(), config_.array_columns, c_.weight_bits, WeightFormat()).data(),
        scales);
  }

  // Packs weights whose codes take whole bytes.
  Weights PackWhole(const uint8_t* at, const uint8_t* scales) const {
    if (mac_ != nullptr) return PackMac(at, scales);
    Weights weights;
    if (IsDepthwise()) {
      const std::vector<int8_t> dense = DenseDepthwiseWeights(c_, config_.lanes(), at);
      if (instruction_.user_unit) {
        weights.user = dense;
        return weights;
      }
      weights.depthwise = PackDepthwiseWeights(c_.taps(), c_.channels, dense.data());
    } else {
      const std::vector<int8_t> dense = DenseWeights(instruction_, config_, at);
      weights.matrix = std::make_unique<PackedWeights>(level_, std::ssize(run_offsets_),
                                                       run_length_, c_.out_channels, dense.data());
    }
    return weights;
  }

  void RunBatch(int64_t batch, bool parallel, uint8_t* memory) const {
    Weights packed_now;
    const Weights* weights;
    if (weights_.empty()) {
      const uint8_t* scales =
          memory + c_.weight_scales.base + batch * c_.weight_scales.batch_stride;
      packed_now = Pack(memory + c_.weight_base + batch * c_.weight_batch_stride, scales);
      weights = &packed_now;
    } else {
      weights = &weights_[static_cast<size_t>(WeightSets() == 1 ? 0 : batch)];
    }
    const Parameters parameters(c_, numbers_, batch, memory);
    const int64_t row_bytes = std::max<int64_t>(row_codes_ * operand_bytes_ * c_.stride_y, 1);
    int64_t rows = std::clamp<int64_t>(kStripBytes / row_bytes, 1, c_.out_height);
    if (parallel) rows = std::min(rows, CeilDivide(c_.out_height, 2 * ThreadCount()));
    const auto strips = [&](int64_t begin, int64_t end) {
      RunStrip(batch, begin, end, *weights, parameters, memory);
    };
    if (parallel) {
      ParallelFor(c_.out_height, rows, strips);
    } else {
      for (int64_t y = 0; y < c_.out_height; y += rows)
        strips(y, std::min<int64_t>(y + rows, c_.out_height));
    }
  }

  // Stores `count` codes from memory as operands of the kernel; FillOperands stores padding.
  void StoreOperands(const uint8_t* codes, int64_t count, uint8_t* to) const {
    if (mac_ != nullptr) {
      mac_->StoreOperands(codes, count, to);
    } else {
      StoreCodes(layout_, reinterpret_cast<const int8_t*>(codes), count, to);
    }
  }
  void FillOperands(int64_t count, uint8_t* to) const {
    if (mac_ != nullptr) {
      mac_->FillOperands(static_cast<uint32_t>(c_.pad_code) & CodeMask(InputFormat()), count, to);
    } else {
      FillCodes(layout_, static_cast<int8_t>(c_.pad_code), count, to);
    }
  }

  // Copies the input of output rows [begin, end), including padding, to the layout of the kernels.
  void FillStrip(int64_t batch, int64_t begin, int64_t places_y, const uint8_t* memory,
                 uint8_t* strip) const {
    const int64_t left = std::min<int64_t>(c_.pad_left, padded_width_);
    const int64_t inside = std::clamp<int64_t>(padded_width_ - left, 0, c_.width);
    const int64_t pixel_bytes = c_.channels * InputFormat().bytes();
    for (int64_t place = 0; place < places_y; ++place) {
      if (BetweenWindows(place)) continue;
      uint8_t* to = strip + place * row_codes_ * operand_bytes_;
      const int64_t y = begin * c_.stride_y - c_.pad_top + place;
      if (y < 0 || y >= c_.height) {
        FillOperands(row_codes_, to);
        continue;
      }
      const uint8_t* row = memory + static_cast<int64_t>(c_.input_base) +
                           batch * c_.input_batch_stride + y * c_.input_row_stride;
      FillOperands(left * c_.channels, to);
      to += left * c_.channels * operand_bytes_;
      if (c_.input_column_stride == pixel_bytes) {
        StoreOperands(row, inside * c_.channels, to);
      } else {
        for (int64_t x = 0; x < inside; ++x) {
          StoreOperands(row + x * c_.input_column_stride, c_.channels,
                        to + x * c_.channels * operand_bytes_);
        }
      }
      to += inside * c_.channels * operand_bytes_;
      FillOperands((padded_width_ - left - inside) * c_.channels, to);
    }
  }
  bool BetweenWindows(int64_t place) const {
    return place % c_.stride_y >= int64_t{c_.kernel_y - 1} * c_.dilation_y + 1;
  }

  // Stores the block scales of the positions that FillStrip copies, [places_y][padded
  // width][blocks]: 1 in the padding and if the input has no scales.
  void FillScales(int64_t batch, int64_t begin, int64_t places_y, const uint8_t* memory,
                  float* scales) const {
    const OperandScales& s = c_.input_scales;
    const int64_t row_scales = padded_width_ * blocks_;
    std::fill_n(scales, places_y * row_scales, 1.0f);
    if (!s.present) return;
    const std::shared_ptr<const FormatTable> table = FormatTable::Of(config_.scale_format);
    const int64_t left = std::min<int64_t>(c_.pad_left, padded_width_);
    const int64_t inside = std::clamp<int64_t>(padded_width_ - left, 0, c_.width);
    for (int64_t place = 0; place < places_y; ++place) {
      const int64_t y = begin * c_.stride_y - c_.pad_top + place;
      if (BetweenWindows(place) || y < 0 || y >= c_.height) continue;
      const uint8_t* row =
          memory + static_cast<int64_t>(s.base) + batch * s.batch_stride + y * s.row_stride;
      for (int64_t x = 0; x < inside; ++x) {
        table->DecodeCodes(row + x * s.column_stride, blocks_,
                           scales + place * row_scales + (left + x) * blocks_);
      }
    }
  }

  // Computes output rows [begin, end) of one batch: products tile by tile, each followed
  // immediately by its vector program.
  void RunStrip(int64_t batch, int64_t begin, int64_t end, const Weights& weights,
                const Parameters& parameters, uint8_t* memory) const {
    thread_local Workspace workspace;
    const int64_t places_y =
        (end - begin - 1) * c_.stride_y + int64_t{c_.kernel_y - 1} * c_.dilation_y + 1;
    uint8_t* strip = Reserve(workspace.strip, places_y * row_codes_ * operand_bytes_ + kSlack);
    FillStrip(batch, begin, places_y, memory, strip);
    if (mac_ != nullptr && IsScaled()) {
      FillScales(batch, begin, places_y, memory,
                 Reserve(workspace.scales, places_y * padded_width_ * blocks_));
    }

    const int64_t pixels = (end - begin) * c_.out_width;
    const int64_t most = std::max<int64_t>(kSumBytes / (4 * sum_stride_), 24);
    const int64_t tiles = CeilDivide(pixels, most);
    for (int64_t tile = 0; tile < tiles; ++tile) {
      const int64_t first = tile * pixels / tiles, count = (tile + 1) * pixels / tiles - first;
      int64_t* offsets = Reserve(workspace.pixels, count);
      for (int64_t p = 0; p < count; ++p) {
        const int64_t y = (first + p) / c_.out_width, x = (first + p) % c_.out_width;
        offsets[p] = y * c_.stride_y * row_codes_ + x * c_.stride_x * c_.channels;
      }
      AccumulatorRows rows;
      rows.offset = parameters.offset.data();
      rows.scale = parameters.scale.data();
      rows.bias = parameters.bias.data();
      if (mac_ == nullptr) {
        MultiplyInt8(strip, offsets, count, weights, workspace, &rows);
      } else {
        MultiplyMac(strip, first, count, weights, workspace, &rows);
      }
      engine_.Run((batch * c_.out_height + begin) * c_.out_width + first, count, &rows, memory);
    }
  }

  void MultiplyInt8(const uint8_t* strip, const int64_t* offsets, int64_t count,
                    const Weights& weights, Workspace& workspace, AccumulatorRows* rows) const {
    int32_t* sums = Reserve(workspace.sums, count * sum_stride_);
    if (instruction_.user_unit) {
      FoldTaps(reinterpret_cast<const int8_t*>(strip), offsets, count, weights.user, sums);
    } else if (IsDepthwise()) {
      MultiplyDepthwise(reinterpret_cast<const int8_t*>(strip), offsets, count, run_offsets_.data(),
                        std::ssize(run_offsets_), weights.depthwise, c_.channels, sums,
                        sum_stride_);
    } else {
      weights.matrix->Multiply(strip, offsets, count, run_offsets_.data(), sums, sum_stride_);
    }
    rows->sums = sums;
    rows->stride = sum_stride_;
    rows->bits = config_.accumulation_format.bits;
  }

  // Computes the user unit's windows, tap by tap.
  void FoldTaps(const int8_t* strip, const int64_t* offsets, int64_t count,
                const std::vector<int8_t>& weights, int32_t* sums) const {
    const UserUnit& unit = *config_.user_unit->unit;
    for (int64_t p = 0; p < count; ++p) {
      const std::span<int32_t> pixel(sums + p * sum_stride_, static_cast<size_t>(c_.channels));
      std::fill(pixel.begin(), pixel.end(), unit.Begin());
      for (size_t tap = 0; tap < run_offsets_.size(); ++tap) {
        unit.Fold(strip + offsets[p] + run_offsets_[tap], weights.data() + tap * pixel.size(),
                  pixel);
      }
    }
  }

  // workspace.pixels holds the offsets of the pixels in the strip.
  void MultiplyMac(const uint8_t* strip, int64_t first, int64_t count, const Weights& weights,
                   Workspace& workspace, AccumulatorRows* rows) const {
    const bool integers = mac_->rule().integer_result();
    const auto multiply = [&](const MacWeights& w, const MacWeights::Pixels& pixels,
                              std::vector<int32_t>& sums, std::vector<float>& values,
                              int64_t stride) {
      void* out = integers ? static_cast<void*>(Reserve(sums, count * stride))
                           : static_cast<void*>(Reserve(values, count * stride));
      w.Multiply(strip, IsScaled() ? workspace.scales.data() : nullptr, pixels, out, stride);
    };
    const int64_t stride = std::max(sum_stride_, weights.mac[0]->padded_columns());
    if (!IsDepthwise()) {
      int64_t* scale_pixels = IsScaled() ? Reserve(workspace.scale_pixels, count) : nullptr;
      for (int64_t p = 0; IsScaled() && p < count; ++p) {
        const int64_t y = (first + p) / c_.out_width, x = (first + p) % c_.out_width;
        scale_pixels[p] = (y * c_.stride_y * padded_width_ + x * c_.stride_x) * blocks_;
      }
      multiply(*weights.mac[0], {workspace.pixels.data(), scale_pixels, count}, workspace.sums,
               workspace.values, stride);
    } else {
      MultiplyChannels(multiply, count, weights, workspace, stride);
    }
    rows->sums = integers ? workspace.sums.data() : nullptr;
    rows->values = integers ? nullptr : workspace.values.data();
    rows->stride = stride;
    rows->bits = config_.accumulation_format.bits;
  }

  // Computes a depthwise convolution as a product of one column per channel, and interleaves the
  // results.
  template <typename Multiply>
  void MultiplyChannels(const Multiply& multiply, int64_t count, const Weights& weights,
                        Workspace& workspace, int64_t stride) const {
    const bool integers = mac_->rule().integer_result();
    const int64_t channel_stride = weights.mac[0]->padded_columns();
    if (integers) Reserve(workspace.sums, count * stride);
    if (!integers) Reserve(workspace.values, count * stride);
    for (int64_t channel = 0; channel < c_.channels; ++channel) {
      multiply(*weights.mac[static_cast<size_t>(channel)],
               {workspace.pixels.data(), nullptr, count}, workspace.channel_sums, workspace.channel,
               channel_stride);
      for (int64_t p = 0; p < count; ++p) {
        const auto to = static_cast<size_t>(p * stride + channel),
                   from = static_cast<size_t>(p * channel_stride);
        if (integers) workspace.sums[to] = workspace.channel_sums[from];
        if (!integers) {
          const float value = workspace.channel[from];
          workspace.values[to] = accumulation_of_total_ != nullptr
                                     ? accumulation_of_total_->Round(0.0f + value)
                                     : value;
        }
        ++workspace.pixels[static_cast<size_t>(p)];  // the next channel's offset
      }
    }
  }

  static constexpr int64_t kSlack = std::max(kImageSlack, kMacImageSlack);

  const Instruction instruction_;
  const Numbers& numbers_;
  const Config& config_;
  const CpuLevel level_ = GetCpuLevel();
  const VectorEngine engine_;
  // The members below are for kMatrix and kDepthwise.
  Convolution c_;
  int64_t padded_width_ = 0;  // positions of one strip row
  int64_t row_codes_ = 0;     // codes of one strip row
  std::vector<int64_t> run_offsets_;
  int64_t run_length_ = 0;
  CodeLayout layout_ = CodeLayout::kRaw;
  // Used if the array's sums are more than wrapping sums of signed bytes.
  std::unique_ptr<const MacKernel> mac_;
  MacOrder order_;
  // Rounds the kernel's results, if these are totals in the psum format.
  std::shared_ptr<const FormatTable> accumulation_of_total_;
  int64_t blocks_ = 0;         // scales of one position
  int64_t operand_bytes_ = 1;  // of one code of the strip
  int64_t sum_stride_ = 0;
  std::vector<Weights> weights_;  // one per weight set; empty if weights are not constants
};

FunctionalMachine::FunctionalMachine(const Config& config) : config_(config), numbers_(config_) {}
FunctionalMachine::~FunctionalMachine() = default;

StatusOr<std::unique_ptr<FunctionalMachine>> FunctionalMachine::Create(
    const Config& config, std::span<const Instruction> instructions, uint64_t memory_bytes,
    uint64_t constants_base, std::span<const uint8_t> constants) {
  std::unique_ptr<FunctionalMachine> machine(new FunctionalMachine(config));
  machine->config_.memory_bytes = static_cast<int64_t>(memory_bytes);
  machine->kernels_.resize(instructions.size());
  std::mutex mutex;
  Status failure;
  size_t failed =
      instructions.size();  // the first faulty instruction, regardless of the order of work
  ParallelFor(std::ssize(instructions), 1, [&](int64_t begin, int64_t) {
    const auto i = static_cast<size_t>(begin);
    Status status = CheckInstruction(instructions[i], machine->config_);
    if (status.ok()) {
      machine->kernels_[i] = std::make_unique<Kernel>(instructions[i], machine->numbers_);
      status = machine->kernels_[i]->Prepare(constants_base, constants);
    }
    std::lock_guard lock(mutex);
    if (!status.ok() && i < failed) {
      failed = i;
      failure = WithContext(fmt::format("instruction {}", i), status);
    }
  });
  KILN_RETURN_IF_ERROR(failure);
  return machine;
}

void FunctionalMachine::Run(int begin, int end, bool parallel, std::span<uint8_t> memory) const {
  KILN_CHECK(static_cast<int64_t>(memory.size()) == config_.memory_bytes);
  for (int i = begin; i < end; ++i) kernels_[static_cast<size_t>(i)]->Run(parallel, memory.data());
}

namespace {

// Returns the program's machine for this CPU level, which the first use creates.
StatusOr<std::shared_ptr<const FunctionalMachine>> MachineOf(const SystolicProgram& program) {
  SystolicProgram::FunctionalSlot& slot = program.functional_slot(GetCpuLevel());
  {
    std::lock_guard lock(slot.mutex);
    if (slot.machine != nullptr) return slot.machine;
  }
  // The machine is created outside the lock, because this runs in parallel and a waiting thread may
  // start another run of the program.
  KILN_ASSIGN_OR_RETURN(
      std::shared_ptr<const FunctionalMachine> machine,
      FunctionalMachine::Create(program.config(), program.instructions(), program.memory_top(),
                                program.constants_base(), program.constants()));
  std::lock_guard lock(slot.mutex);
  if (slot.machine == nullptr) slot.machine = std::move(machine);
  return slot.machine;
}

}  // namespace

StatusOr<RunResult> RunFunctional(const SystolicProgram& program, const Batch& batch,
                                  const RunOptions& options) {
  KILN_ASSIGN_OR_RETURN(const std::shared_ptr<const FunctionalMachine> machine, MachineOf(program));
  // With enough images each thread runs its own image; otherwise the threads share the kernels of
  // one image.
  const bool parallel = batch.images() < 2 * ThreadCount();
  return RunSteps(program, batch, options, Level::kFunctional,
                  [&](int64_t, const Step& step, size_t, std::span<uint8_t> memory) {
                    machine->Run(step.begin, step.end, parallel, memory);
                    return Trace{};
                  });
}

}  // namespace kiln::systolic

// The input fills of an instruction, spelled out from docs/systolic.md and walk.h. FillInputs
// (cycle_data.h) defines the contents of the bank.
#ifndef KILN_TESTS_RTL_SYSTOLIC_INPUT_FILLS_H_
#define KILN_TESTS_RTL_SYSTOLIC_INPUT_FILLS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "kiln/numerics/codec.h"
#include "kiln/targets/systolic/isa/timing.h"
#include "kiln/targets/systolic/isa/walk.h"
#include "kiln/targets/systolic/simulate/cycle/cycle_data.h"
#include "kiln/targets/systolic/simulate/numbers.h"
#include "tests/rtl/systolic/fetch_bench.h"
#include "tests/targets/systolic/random_instruction.h"

namespace kiln::systolic {

// Scales follow all codes in the bank's contents.
inline constexpr size_t kFirstScale = 2000;

class InputFills {
 public:
  InputFills(const RandomCase& random_case, const Config& config)
      : in_(random_case.instruction),
        conv_(in_.convolution),
        config_(config),
        geometry_(GeometryOf(in_, config)),
        bytes_(config.input_format.bytes()),
        memory_(random_case.memory) {}

  std::vector<FetchFill> List() {
    std::vector<FetchFill> fills;
    const bool depthwise = in_.opcode == Opcode::kDepthwise;
    for (const Visit& visit : VisitsOf(in_, config_)) {
      if (!visit.fetch_inputs) continue;
      for (int32_t f = 0; f < geometry_.fills; ++f) {
        const int32_t first = depthwise ? visit.first_column : f * in_.tiling.groups_per_bank;
        const int32_t all = depthwise ? geometry_.column_tiles : geometry_.groups;
        const int32_t end = std::min(all, first + in_.tiling.groups_per_bank);
        FetchFill fill;
        fill.buffer = depthwise ? 1 : 0;
        int64_t cycles = 0;  // that the cycle level counts for it
        if (depthwise) {
          cycles = GroupFetchCycles(in_, config_, geometry_, visit, first);
          AddDepthwise(visit, first, end, fill);
        }
        for (int32_t group = first; group < end && !depthwise; ++group) {
          cycles += GroupFetchCycles(in_, config_, geometry_, visit, group);
          if (Packed()) {
            AddPackedGroup(visit, group, fill);
          } else {
            AddGroup(visit, group, fill);
          }
        }
        fill.padding_only = std::all_of(fill.requests.begin(), fill.requests.end(),
                                        [](const FetchRequest& r) { return r.bytes == 0; });
        if (fill.padding_only) fill.requests.back() = {conv_.input_base, 1};
        EXPECT_EQ(CyclesOf(fill.requests, config_.input_port_bytes), cycles);
        AddContents(visit, first, end, fill);
        fills.push_back(std::move(fill));
      }
    }
    return fills;
  }

 private:
  bool Packed() const {
    return in_.opcode == Opcode::kMatrix && in_.tiling.packing == Packing::kTaps;
  }
  int32_t Lanes() const {
    return in_.opcode == Opcode::kDepthwise ? config_.array_columns : config_.array_rows;
  }
  bool Inside(int64_t iy, int64_t ix) const {
    return iy >= 0 && iy < conv_.height && ix >= 0 && ix < conv_.width;
  }
  uint64_t AddressOf(const Visit& visit, int64_t iy, int64_t ix, int64_t channel) const {
    return conv_.input_base +
           static_cast<uint64_t>(visit.batch * conv_.input_batch_stride +
                                 iy * conv_.input_row_stride + ix * conv_.input_column_stride +
                                 channel * bytes_);
  }

  void AddGroup(const Visit& visit, int32_t group, FetchFill& fill) const {
    const int32_t channel = group * Lanes();
    const int32_t count = std::min(Lanes(), conv_.channels - channel);
    for (int32_t py = 0; py < geometry_.y.Places(visit.height); ++py) {
      for (int32_t px = 0; px < geometry_.x.Places(visit.width); ++px) {
        const int32_t iy = geometry_.y.Coordinate(visit.y, py),
                      ix = geometry_.x.Coordinate(visit.x, px);
        if (conv_.input_scales.present) {
          fill.scales.push_back({fill.requests.size(), {ScaleRequest(visit, iy, ix, channel)}});
        }
        fill.requests.push_back(
            Inside(iy, ix) ? FetchRequest{AddressOf(visit, iy, ix, channel), count * bytes_}
                           : FetchRequest{});
      }
    }
  }

  // Consecutive words of a position or (joined) of a row share a request while they are of one
  // kind, a beat holds them and no aligned group of that many words ends.
  void AddDepthwise(const Visit& visit, int32_t first, int32_t end, FetchFill& fill) const {
    const int64_t together = config_.depthwise_words_per_cycle, word_bytes = Lanes() * bytes_;
    int64_t words = 0;  // of the last request
    bool padding = false;
    for (int32_t py = 0; py < geometry_.y.Places(visit.height); ++py) {
      for (int32_t px = 0; px < geometry_.x.Places(visit.width); ++px) {
        const int32_t iy = geometry_.y.Coordinate(visit.y, py),
                      ix = geometry_.x.Coordinate(visit.x, px);
        if (px == 0 || !geometry_.joined_rows) words = 0;
        for (int32_t tile = first; tile < end; ++tile) {
          const uint64_t address = AddressOf(visit, iy, ix, int64_t{tile} * Lanes());
          const bool inside = Inside(iy, ix);
          const bool aligned =
              inside &&
              address / static_cast<uint64_t>(word_bytes) % static_cast<uint64_t>(together) == 0;
          if (words == 0 || words == together || padding == inside || aligned) {
            fill.requests.push_back({inside ? address : 0, 0});
            words = 0;
          }
          if (inside) fill.requests.back().bytes += ValidColumns(in_, config_, tile) * bytes_;
          padding = !inside;
          ++words;
        }
      }
    }
  }

  FetchRequest ScaleRequest(const Visit& visit, int32_t iy, int32_t ix, int32_t channel) const {
    if (!Inside(iy, ix)) return {};
    const OperandScales& scales = conv_.input_scales;
    const int64_t bytes = config_.scale_format.bytes();
    return {scales.base + static_cast<uint64_t>(visit.batch * scales.batch_stride +
                                                iy * scales.row_stride + ix * scales.column_stride +
                                                channel / config_.block_size * bytes),
            bytes};
  }

  void AddPackedGroup(const Visit& visit, int32_t group, FetchFill& fill) const {
    const bool joined =
        conv_.dilation_x == 1 && conv_.input_column_stride == conv_.channels * bytes_;
    const int64_t first = int64_t{group} * config_.array_rows;
    const int64_t end = first + ValidRows(in_, config_, group);
    for (int32_t y = 0; y < visit.height; ++y) {
      for (int32_t x = 0; x < visit.width; ++x) {
        int64_t run_key = -1;
        for (int64_t entry = first; entry < end; ++entry) {
          const int64_t tap = entry / conv_.channels, channel = entry % conv_.channels;
          const int64_t ky = tap / conv_.kernel_x, kx = tap % conv_.kernel_x;
          const int64_t key = joined ? ky : tap;
          if (key != run_key) fill.requests.emplace_back();
          run_key = key;
          const int64_t iy =
              int64_t{visit.y + y} * conv_.stride_y - conv_.pad_top + ky * conv_.dilation_y;
          const int64_t ix =
              int64_t{visit.x + x} * conv_.stride_x - conv_.pad_left + kx * conv_.dilation_x;
          if (!Inside(iy, ix)) continue;
          FetchRequest& run = fill.requests.back();
          if (run.bytes == 0) run.address = AddressOf(visit, iy, ix, channel);
          ASSERT_EQ(run.address + static_cast<uint64_t>(run.bytes),
                    AddressOf(visit, iy, ix, channel));
          run.bytes += bytes_;
        }
      }
    }
  }

  void AddContents(const Visit& visit, int32_t first, int32_t end, FetchFill& fill) {
    const ArrayNumbers numbers(config_);
    OuterMemory memory{std::span<uint8_t>(memory_)};
    InputBank bank;
    FillInputs(in_, config_, numbers, geometry_, visit, first, end, memory, bank);
    ASSERT_TRUE(numbers.whole && memory.fault().empty());
    const bool packed = Packed(), depthwise = in_.opcode == Opcode::kDepthwise;
    const auto places = [&](const RegionAxis& axis, int32_t tile) {
      return packed ? tile : axis.Places(tile);
    };
    const size_t row_pitch = static_cast<size_t>(places(geometry_.x, in_.tiling.tile_width));
    const size_t group_pitch =
        static_cast<size_t>(places(geometry_.y, in_.tiling.tile_height)) * row_pitch;
    const size_t stride =
        static_cast<size_t>(depthwise ? config_.array_columns : (config_.array_rows + 1) / 2 * 2);
    const size_t rows = static_cast<size_t>(places(geometry_.y, visit.height));
    const size_t columns = static_cast<size_t>(places(geometry_.x, visit.width));
    const uint32_t mask = CodeMask(config_.input_format);
    // Unused lanes hold padding.
    const uint32_t pad = static_cast<uint32_t>(conv_.pad_code) & mask;
    const auto lanes = static_cast<size_t>(Lanes()),
               tiles = static_cast<size_t>(in_.tiling.groups_per_bank);
    size_t word = 0;
    for (int32_t group = first; group < end; ++group) {
      const auto count = static_cast<size_t>(
          depthwise ? ValidColumns(in_, config_, group)
                    : ValidRows(in_, config_, group * geometry_.rows_per_group));
      for (size_t y = 0; y < rows; ++y) {
        for (size_t x = 0; x < columns; ++x, ++word) {
          const size_t place =
              depthwise ? (y * row_pitch + x) * tiles + static_cast<size_t>(group - first)
                        : static_cast<size_t>(group - first) * group_pitch + y * row_pitch + x;
          for (size_t i = 0; i < lanes; ++i) {
            const uint32_t code = static_cast<uint32_t>(bank.words[word * stride + i]) & mask;
            fill.contents.emplace_back(place * lanes + i, i < count ? code : pad);
          }
          if (conv_.input_scales.present)
            AddScale(bank.scales[word], place, fill.scales[word].requests[0], fill);
        }
      }
    }
    ASSERT_EQ(word * stride, bank.words.size());
  }

  // The scale of the word at `place` follows all codes, as element kFirstScale + place.
  void AddScale(float value, size_t place, const FetchRequest& request, FetchFill& fill) const {
    const uint32_t code = request.bytes == 0 ? EncodeFloat(config_.scale_format, 1.0f)
                                             : LoadBits(memory_.data() + request.address,
                                                        static_cast<int>(request.bytes));
    const float decoded = DecodeFloat(config_.scale_format, code);
    ASSERT_TRUE(decoded == value || (std::isnan(decoded) && std::isnan(value)))
        << decoded << " " << value;
    fill.contents.emplace_back(kFirstScale + place, code);
  }

  const Instruction& in_;
  const Convolution& conv_;
  const Config& config_;
  const Geometry geometry_;
  const int64_t bytes_;
  std::vector<uint8_t> memory_;
};

}  // namespace kiln::systolic

#endif  // KILN_TESTS_RTL_SYSTOLIC_INPUT_FILLS_H_

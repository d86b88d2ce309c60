#include "kiln/targets/systolic/cycle_data.h"

#include <algorithm>
#include <cstring>

namespace kiln::systolic {
namespace {

uint64_t Offset(uint64_t base, int64_t offset) { return base + static_cast<uint64_t>(offset); }

// Codes of one word, rounded up to pairs as the array reads them.
int WordCodes(const Instruction& instruction, const Config& config) {
  return instruction.opcode == Opcode::kDepthwise ? config.array_columns : (config.array_rows + 1) / 2 * 2;
}

int ColumnsRoundedUp(const Config& config) { return ArrayWeights(2, config.array_columns).columns; }

// `count` channels from `channel` on of input place (iy, ix), or padding.
void ReadChannels(const Convolution& conv, int32_t batch, int32_t iy, int32_t ix, int32_t channel, int32_t count,
                  OuterMemory& memory, int16_t* out) {
  if (iy < 0 || iy >= conv.height || ix < 0 || ix >= conv.width) {
    std::fill(out, out + count, static_cast<int16_t>(conv.pad_code));
    return;
  }
  const uint64_t at = Offset(conv.input_base, batch * conv.input_batch_stride + iy * conv.input_row_stride +
                                                  ix * conv.input_column_stride + channel);
  const uint8_t* bytes = memory.Read(at, static_cast<uint64_t>(count));
  for (int32_t i = 0; i < count; ++i) out[i] = bytes == nullptr ? int16_t{0} : static_cast<int8_t>(bytes[i]);
}

}  // namespace

uint8_t* OuterMemory::At(uint64_t address, uint64_t size, const char* what) {
  if (address > bytes_.size() || size > bytes_.size() - address) {
    if (fault_.empty()) {
      fault_ = std::string(what) + " of " + std::to_string(size) + " bytes at address " + std::to_string(address) +
               " lies outside the memory of " + std::to_string(bytes_.size()) + " bytes";
    }
    return nullptr;
  }
  return bytes_.data() + address;
}

void FillInputs(const Instruction& instruction, const Config& config, const Geometry& geometry, const Visit& visit,
                int32_t first_group, int32_t end_group, OuterMemory& memory, InputBank& bank) {
  const Convolution& conv = instruction.convolution;
  const int word_codes = WordCodes(instruction, config);
  const int32_t lanes = instruction.opcode == Opcode::kDepthwise ? config.array_columns : config.array_rows;
  const int64_t group_words = GroupWords(instruction, geometry, visit.height, visit.width);
  bank.words.assign(static_cast<size_t>((end_group - first_group) * group_words * word_codes), 0);
  int16_t* word = bank.words.data();

  for (int32_t group = first_group; group < end_group; ++group) {
    if (instruction.opcode == Opcode::kMatrix && instruction.tiling.packing == Packing::kTaps) {
      const int64_t first = int64_t{group} * config.array_rows;
      const int32_t count = ValidRows(instruction, config, group);
      for (int32_t y = 0; y < visit.height; ++y) {
        for (int32_t x = 0; x < visit.width; ++x, word += word_codes) {
          // Entry e of the list (ky, kx, c): channels of one tap are fetched together.
          for (int32_t i = 0; i < count;) {
            const int64_t entry = first + i;
            const int32_t tap = static_cast<int32_t>(entry / conv.channels);
            const int32_t channel = static_cast<int32_t>(entry % conv.channels);
            const int32_t run = std::min(count - i, conv.channels - channel);
            const int32_t iy = (visit.y + y) * conv.stride_y - conv.pad_top + tap / conv.kernel_x * conv.dilation_y;
            const int32_t ix = (visit.x + x) * conv.stride_x - conv.pad_left + tap % conv.kernel_x * conv.dilation_x;
            ReadChannels(conv, visit.batch, iy, ix, channel, run, memory, word + i);
            i += run;
          }
        }
      }
      continue;
    }
    const int32_t channel = group * lanes;
    const int32_t count = std::min(lanes, conv.channels - channel);
    const int32_t places_y = geometry.y.Places(visit.height), places_x = geometry.x.Places(visit.width);
    for (int32_t py = 0; py < places_y; ++py) {
      const int32_t iy = geometry.y.Coordinate(visit.y, py);
      for (int32_t px = 0; px < places_x; ++px, word += word_codes) {
        ReadChannels(conv, visit.batch, iy, geometry.x.Coordinate(visit.x, px), channel, count, memory, word);
      }
    }
  }
}

void FetchWeightTile(const Instruction& instruction, const Config& config, const Geometry& geometry, const Visit& visit,
                     int32_t row_tile, int32_t column_tile, OuterMemory& memory, int8_t* codes) {
  const Convolution& conv = instruction.convolution;
  const int32_t rows = config.array_rows, columns = config.array_columns;
  const uint64_t base = Offset(conv.weight_base, visit.batch * conv.weight_batch_stride);
  if (conv.weight_layout == WeightLayout::kTiled) {
    const int64_t tile_bytes = int64_t{rows} * columns;
    const int64_t tile = int64_t{column_tile} * geometry.row_tiles() + row_tile;
    const uint8_t* bytes = memory.Read(Offset(base, tile * tile_bytes), static_cast<uint64_t>(tile_bytes));
    if (bytes == nullptr) {
      std::fill(codes, codes + tile_bytes, int8_t{0});
    } else {
      std::memcpy(codes, bytes, static_cast<size_t>(tile_bytes));
    }
    return;
  }
  std::fill(codes, codes + int64_t{rows} * columns, int8_t{0});
  const int32_t valid_columns = ValidColumns(instruction, config, column_tile);
  for (int32_t r = 0; r < rows; ++r) {
    const int64_t k = WeightIndex(instruction, config, row_tile, r);
    if (k < 0) break;
    for (int32_t c = 0; c < valid_columns; ++c) {
      const int64_t n = int64_t{column_tile} * columns + c;
      const uint8_t* byte = memory.Read(Offset(base, k * conv.weight_row_stride + n * conv.weight_column_stride), 1);
      codes[r * columns + c] = byte == nullptr ? int8_t{0} : static_cast<int8_t>(*byte);
    }
  }
}

void FetchDepthwiseWeights(const Instruction& instruction, const Config& config, const Visit& visit,
                           OuterMemory& memory, std::vector<int8_t>& codes) {
  const Convolution& conv = instruction.convolution;
  const int64_t bytes_of_tile = int64_t{conv.taps()} * config.array_columns;
  codes.assign(static_cast<size_t>(bytes_of_tile), 0);
  const uint64_t at =
      Offset(conv.weight_base, visit.batch * conv.weight_batch_stride + visit.first_column * bytes_of_tile);
  if (const uint8_t* bytes = memory.Read(at, static_cast<uint64_t>(bytes_of_tile))) {
    std::memcpy(codes.data(), bytes, static_cast<size_t>(bytes_of_tile));
  }
}

void FetchParameters(const Instruction& instruction, const Config& config, const Visit& visit, OuterMemory& memory,
                     ParameterBank& bank) {
  const Convolution& conv = instruction.convolution;
  const size_t size = static_cast<size_t>(visit.columns) * static_cast<size_t>(config.array_columns);
  bank.offset.assign(size, 0);
  bank.scale.assign(size, 0.0f);
  bank.bias.assign(size, 0.0f);
  const uint64_t base = Offset(conv.parameters.base, visit.batch * conv.parameter_batch_stride);
  const int64_t array_bytes = int64_t{conv.out_channels} * 4;  // each array holds one entry an output channel
  for (int32_t column = 0; column < visit.columns; ++column) {
    const int32_t tile = visit.first_column + column;
    const size_t count = static_cast<size_t>(ValidColumns(instruction, config, tile));
    const int64_t first = int64_t{tile} * config.array_columns * 4;
    const size_t to = static_cast<size_t>(column) * static_cast<size_t>(config.array_columns);
    void* targets[] = {bank.offset.data() + to, bank.scale.data() + to, bank.bias.data() + to};
    for (int64_t i = 0; i < 3; ++i) {
      if (const uint8_t* bytes = memory.Read(Offset(base, i * array_bytes + first), count * 4)) {
        std::memcpy(targets[i], bytes, count * 4);
      }
    }
  }
}

void ArrayPass(const Instruction& instruction, const Config& config, const Geometry& geometry, const Visit& visit,
               const ArrayWeights& weights, const InputBank& bank, int32_t group_in_fill, int32_t tap, int32_t column,
               bool overwrite, AccumulationBank& accumulators) {
  const Convolution& conv = instruction.convolution;
  const size_t pixels = static_cast<size_t>(visit.pixels());
  const size_t columns = static_cast<size_t>(weights.columns);
  accumulators.values.resize(static_cast<size_t>(visit.columns) * pixels * columns);
  const int64_t group_words = GroupWords(instruction, geometry, visit.height, visit.width);
  std::vector<int32_t> rows(static_cast<size_t>(visit.height)), cols(static_cast<size_t>(visit.width));
  const bool packed = instruction.tiling.packing == Packing::kTaps;
  const int32_t places_x = geometry.x.Places(visit.width);
  for (int32_t y = 0; y < visit.height; ++y) {
    rows[static_cast<size_t>(y)] = packed ? y * visit.width : geometry.y.Place(y, tap / conv.kernel_x) * places_x;
  }
  for (int32_t x = 0; x < visit.width; ++x) {
    cols[static_cast<size_t>(x)] = packed ? x : geometry.x.Place(x, tap % conv.kernel_x);
  }
  RunPass(weights, bank.words.data() + group_in_fill * group_words * WordCodes(instruction, config), {rows, cols},
          overwrite, accumulators.values.data() + static_cast<size_t>(column) * pixels * columns);
}

void DepthwiseStep(const Instruction& instruction, const Config& config, const Geometry& geometry, const Visit& visit,
                   const std::vector<int8_t>& weights, const InputBank& bank, AccumulationBank& accumulators) {
  const Convolution& conv = instruction.convolution;
  const int lanes = config.array_columns;
  const size_t stride = static_cast<size_t>(ColumnsRoundedUp(config));
  accumulators.values.assign(static_cast<size_t>(visit.pixels()) * stride, 0);
  const int32_t places_x = geometry.x.Places(visit.width);
  int32_t* sum = accumulators.values.data();
  for (int32_t y = 0; y < visit.height; ++y) {
    for (int32_t x = 0; x < visit.width; ++x, sum += stride) {
      for (int32_t tap = 0; tap < conv.taps(); ++tap) {
        const int64_t place =
            int64_t{geometry.y.Place(y, tap / conv.kernel_x)} * places_x + geometry.x.Place(x, tap % conv.kernel_x);
        const int16_t* word = bank.words.data() + place * lanes;
        const int8_t* weight = weights.data() + int64_t{tap} * lanes;
        for (int lane = 0; lane < lanes; ++lane) sum[lane] += word[lane] * weight[lane];
      }
    }
  }
}

}  // namespace kiln::systolic

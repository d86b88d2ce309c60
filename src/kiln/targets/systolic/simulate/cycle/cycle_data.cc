// Fetches, array passes and depthwise steps of the cycle level, on the bits of the banks.
#include "kiln/targets/systolic/simulate/cycle/cycle_data.h"

#include <algorithm>
#include <cstring>

#include "kiln/targets/systolic/config/user_unit.h"
#include "kiln/targets/systolic/isa/timing.h"
#include "kiln/targets/systolic/simulate/arithmetic.h"

namespace kiln::systolic {
namespace {

// Returns the codes of one word, rounded up to pairs as the array reads them.
int WordCodes(const Instruction& instruction, const Config& config) {
  return instruction.opcode == Opcode::kDepthwise ? config.array_columns
                                                  : (config.array_rows + 1) / 2 * 2;
}

int ColumnsRoundedUp(const Config& config) { return ArrayWeights(2, config.array_columns).columns; }

// Stores `count` codes in a bank's words from element `at`. A null `codes` leaves zeros.
void Put(const Operand& operand, bool whole, const uint8_t* codes, int64_t count, size_t at,
         std::vector<int16_t>& words, std::vector<float>& values) {
  if (codes == nullptr) return;
  if (whole) {
    operand.ReadWhole(codes, count, words.data() + at);
  } else {
    operand.ReadValues(codes, count, values.data() + at);
  }
}

// Reads `rows` rows of C weight codes, packed or not, to a bank's words from element `at` on.
void ReadWeightRows(const Convolution& conv, const Config& config, const ArrayNumbers& numbers,
                    uint64_t address, int64_t rows, size_t at, OuterMemory& memory,
                    WeightBank& bank) {
  const int64_t row_bytes = WeightRowBytes(conv, config), columns = config.array_columns;
  const uint8_t* stored = memory.Read(address, static_cast<uint64_t>(rows * row_bytes));
  if (stored == nullptr || conv.weight_bits == 0)
    return Put(numbers.weight, numbers.whole, stored, rows * columns, at, bank.words, bank.values);
  const int bytes = numbers.weight.bytes(), unused = 32 - conv.weight_bits;
  std::vector<uint8_t> codes(static_cast<size_t>(columns * bytes));
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      const int64_t bit = column * conv.weight_bits;
      const uint8_t* from = stored + row * row_bytes + bit / 8;
      const bool crosses = bit % 8 + conv.weight_bits > 8;
      const uint32_t two = from[0] | (crosses ? uint32_t{from[1]} << 8 : 0);
      const uint32_t top = two >> bit % 8 << unused;  // the code in the highest bits
      const uint32_t code = numbers.weight.is_integer()
                                ? static_cast<uint32_t>(static_cast<int32_t>(top) >> unused)
                                : top >> unused;
      StoreBits(code, bytes, codes.data() + column * bytes);
    }
    Put(numbers.weight, numbers.whole, codes.data(), columns,
        at + static_cast<size_t>(row * columns), bank.words, bank.values);
  }
}

float ReadScale(const ArrayNumbers& numbers, OuterMemory& memory, uint64_t at) {
  const uint8_t* bytes = memory.Peek(at, static_cast<uint64_t>(numbers.scale_bytes));
  return bytes == nullptr ? 0.0f : numbers.scales->Decode(LoadBits(bytes, numbers.scale_bytes));
}

// Fills the words of one bank.
class InputFiller {
 public:
  InputFiller(const Instruction& instruction, const Config& config, const ArrayNumbers& numbers,
              OuterMemory& memory, InputBank& bank)
      : conv_(instruction.convolution),
        config_(config),
        numbers_(numbers),
        memory_(memory),
        bank_(bank) {
    StoreBits(static_cast<uint32_t>(conv_.pad_code), config.input_format.bytes(), pad_);
  }

  // Stores `count` channels from channel `channel` of input position (iy, ix), or padding, in the
  // bank from element `at`.
  void Channels(int32_t batch, int32_t iy, int32_t ix, int32_t channel, int32_t count, size_t at) {
    const int64_t bytes = numbers_.input.bytes();
    if (!Inside(iy, ix)) {
      for (int32_t i = 0; i < count; ++i) {
        Put(numbers_.input, numbers_.whole, pad_, 1, at + static_cast<size_t>(i), bank_.words,
            bank_.values);
      }
      return;
    }
    const uint64_t from =
        Offset(conv_.input_base, batch * conv_.input_batch_stride + iy * conv_.input_row_stride +
                                     ix * conv_.input_column_stride + channel * bytes);
    const uint8_t* codes = memory_.Read(from, static_cast<uint64_t>(count * bytes));
    Put(numbers_.input, numbers_.whole, codes, count, at, bank_.words, bank_.values);
  }
  // Returns the scale of the block that contains channel `channel`.
  float Scale(int32_t batch, int32_t iy, int32_t ix, int32_t channel) {
    if (!Inside(iy, ix)) return 1.0f;
    const OperandScales& s = conv_.input_scales;
    const int64_t block = channel / config_.block_size;
    return ReadScale(numbers_, memory_,
                     Offset(s.base, batch * s.batch_stride + iy * s.row_stride +
                                        ix * s.column_stride + block * numbers_.scale_bytes));
  }

 private:
  bool Inside(int32_t iy, int32_t ix) const {
    return iy >= 0 && iy < conv_.height && ix >= 0 && ix < conv_.width;
  }
  const Convolution& conv_;
  const Config& config_;
  const ArrayNumbers& numbers_;
  OuterMemory& memory_;
  InputBank& bank_;
  uint8_t pad_[4];
};

// Adds a psum of one pixel and column to its accumulator.
void Accumulate(const ArrayNumbers& numbers, bool overwrite, int32_t psum, float scale,
                int32_t* sum, float* value) {
  psum = WrapAccumulator(psum, numbers.psum_bits);
  if (numbers.whole_accumulation) {
    *sum = WrapAccumulator(WrappingAdd(overwrite ? 0 : *sum, psum), numbers.accumulation_bits);
  } else {
    *value = numbers.accumulation.Fused(overwrite ? 0.0f : *value, static_cast<float>(psum), scale);
  }
}

// Returns psum + x * w in the psum format.
float AddProduct(const ArrayNumbers& numbers, float psum, float x, float w) {
  if (!numbers.product_rounded) return numbers.psum.Fused(psum, x, w);
  const float product = numbers.psum.Round(static_cast<double>(x) * w);
  return numbers.psum.Round(AddToOdd(psum, product));
}

}  // namespace

uint8_t* OuterMemory::At(uint64_t address, uint64_t size, const char* what) {
  if (address > bytes_.size() || size > bytes_.size() - address) {
    if (fault_.empty()) {
      fault_ = std::string(what) + " of " + std::to_string(size) + " bytes at address " +
               std::to_string(address) + " lies outside the memory of " +
               std::to_string(bytes_.size()) + " bytes";
    }
    return nullptr;
  }
  return bytes_.data() + address;
}

void FillInputs(const Instruction& instruction, const Config& config, const ArrayNumbers& numbers,
                const Geometry& geometry, const Visit& visit, int32_t first_group,
                int32_t end_group, OuterMemory& memory, InputBank& bank) {
  const Convolution& conv = instruction.convolution;
  const size_t word_codes = static_cast<size_t>(WordCodes(instruction, config));
  const int32_t lanes =
      instruction.opcode == Opcode::kDepthwise ? config.array_columns : config.array_rows;
  const int64_t group_words = GroupWords(instruction, geometry, visit.height, visit.width);
  const size_t words = static_cast<size_t>((end_group - first_group) * group_words);
  bank.words.assign(numbers.whole ? words * word_codes : 0, 0);
  bank.values.assign(numbers.whole ? 0 : words * word_codes, 0.0f);
  bank.scales.clear();
  InputFiller filler(instruction, config, numbers, memory, bank);
  size_t word = 0;  // the word's first element

  for (int32_t group = first_group; group < end_group; ++group) {
    if (instruction.opcode == Opcode::kMatrix && instruction.tiling.packing == Packing::kTaps) {
      const int64_t first = int64_t{group} * config.array_rows;
      const int32_t count = ValidRows(instruction, config, group);
      for (int32_t y = 0; y < visit.height; ++y) {
        for (int32_t x = 0; x < visit.width; ++x, word += word_codes) {
          // Entry e of the list (ky, kx, c); the channels of one tap are fetched together.
          for (int32_t i = 0; i < count;) {
            const int64_t entry = first + i;
            const int32_t tap = static_cast<int32_t>(entry / conv.channels);
            const int32_t channel = static_cast<int32_t>(entry % conv.channels);
            const int32_t run = std::min(count - i, conv.channels - channel);
            const int32_t iy = (visit.y + y) * conv.stride_y - conv.pad_top +
                               tap / conv.kernel_x * conv.dilation_y;
            const int32_t ix = (visit.x + x) * conv.stride_x - conv.pad_left +
                               tap % conv.kernel_x * conv.dilation_x;
            filler.Channels(visit.batch, iy, ix, channel, run, word + static_cast<size_t>(i));
            i += run;
          }
        }
      }
      continue;
    }
    const int32_t channel = group * lanes;
    const int32_t count = std::min(lanes, conv.channels - channel);
    const int32_t places_y = geometry.y.Places(visit.height),
                  places_x = geometry.x.Places(visit.width);
    for (int32_t py = 0; py < places_y; ++py) {
      const int32_t iy = geometry.y.Coordinate(visit.y, py);
      for (int32_t px = 0; px < places_x; ++px, word += word_codes) {
        const int32_t ix = geometry.x.Coordinate(visit.x, px);
        filler.Channels(visit.batch, iy, ix, channel, count, word);
        if (conv.input_scales.present)
          bank.scales.push_back(filler.Scale(visit.batch, iy, ix, channel));
      }
    }
  }
}

void FetchWeightTile(const Instruction& instruction, const Config& config,
                     const ArrayNumbers& numbers, const Geometry& geometry, const Visit& visit,
                     int32_t row_tile, int32_t column_tile, OuterMemory& memory, WeightBank& bank) {
  const Convolution& conv = instruction.convolution;
  const int32_t rows = config.array_rows, columns = config.array_columns;
  const int64_t codes = int64_t{rows} * columns, code_bytes = numbers.weight.bytes();
  const uint64_t base = Offset(conv.weight_base, visit.batch * conv.weight_batch_stride);
  const OperandScales& scales = conv.weight_scales;
  const uint64_t scale_base = Offset(scales.base, visit.batch * scales.batch_stride);
  const size_t at = numbers.whole ? bank.words.size() : bank.values.size();
  if (numbers.whole) bank.words.resize(at + static_cast<size_t>(codes), 0);
  if (!numbers.whole) bank.values.resize(at + static_cast<size_t>(codes), 0.0f);
  const size_t scale_at = bank.scales.size();
  if (scales.present) bank.scales.resize(scale_at + static_cast<size_t>(columns), 1.0f);

  if (conv.weight_layout == WeightLayout::kTiled) {
    const int64_t tile = int64_t{column_tile} * geometry.row_tiles() + row_tile;
    ReadWeightRows(conv, config, numbers, Offset(base, tile * rows * WeightRowBytes(conv, config)),
                   rows, at, memory, bank);
    for (int32_t c = 0; scales.present && c < columns; ++c) {
      bank.scales[scale_at + static_cast<size_t>(c)] = ReadScale(
          numbers, memory, Offset(scale_base, (tile * columns + c) * numbers.scale_bytes));
    }
    return;
  }
  const int32_t valid_columns = ValidColumns(instruction, config, column_tile);
  for (int32_t r = 0; r < rows; ++r) {
    const int64_t k = WeightIndex(instruction, config, row_tile, r);
    if (k < 0) break;
    for (int32_t c = 0; c < valid_columns; ++c) {
      const int64_t n = int64_t{column_tile} * columns + c;
      const uint8_t* code =
          memory.Read(Offset(base, k * conv.weight_row_stride + n * conv.weight_column_stride),
                      static_cast<uint64_t>(code_bytes));
      Put(numbers.weight, numbers.whole, code, 1, at + static_cast<size_t>(r * columns + c),
          bank.words, bank.values);
      if (!scales.present || r > 0) continue;
      const int64_t block = k / config.block_size * numbers.scale_bytes;
      bank.scales[scale_at + static_cast<size_t>(c)] =
          ReadScale(numbers, memory, Offset(scale_base, n * scales.column_stride + block));
    }
  }
}

void FetchDepthwiseWeights(const Instruction& instruction, const Config& config,
                           const ArrayNumbers& numbers, const Visit& visit, OuterMemory& memory,
                           WeightBank& bank) {
  const Convolution& conv = instruction.convolution;
  const int64_t codes = int64_t{conv.taps()} * config.array_columns;
  const int64_t bytes = conv.taps() * WeightRowBytes(conv, config);
  bank.words.assign(numbers.whole ? static_cast<size_t>(codes) : 0, 0);
  bank.values.assign(numbers.whole ? 0 : static_cast<size_t>(codes), 0.0f);
  const uint64_t at =
      Offset(conv.weight_base, visit.batch * conv.weight_batch_stride + visit.first_column * bytes);
  ReadWeightRows(conv, config, numbers, at, conv.taps(), 0, memory, bank);
}

void FetchParameters(const Instruction& instruction, const Config& config, const Visit& visit,
                     OuterMemory& memory, ParameterBank& bank) {
  const Convolution& conv = instruction.convolution;
  const size_t size =
      static_cast<size_t>(visit.columns) * static_cast<size_t>(config.array_columns);
  bank.offset.assign(size, 0);
  bank.scale.assign(size, 0.0f);
  bank.bias.assign(size, 0.0f);
  const uint64_t base = Offset(conv.parameters.base, visit.batch * conv.parameter_batch_stride);
  const int64_t array_bytes =
      int64_t{conv.out_channels} * 4;  // each array has one entry for each output channel
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

void LoadWeights(const Config& config, const ArrayNumbers& numbers, const WeightBank& bank,
                 int64_t tile, StandingWeights& weights) {
  const auto begin = tile * config.macs_per_cycle();
  weights.scales.clear();
  if (!bank.scales.empty()) {
    const auto first = bank.scales.begin() + tile * config.array_columns;
    weights.scales.assign(first, first + config.array_columns);
  }
  if (!numbers.whole) {
    const auto first = bank.values.begin() + begin;
    weights.values.assign(first, first + config.macs_per_cycle());
    return;
  }
  const int16_t* code = bank.words.data() + begin;
  for (int r = 0; r < config.array_rows; ++r) {
    for (int c = 0; c < config.array_columns; ++c) weights.whole.Set(r, c, *code++);
  }
}

namespace {

// The indices of the words that a pass reads.
struct Words {
  std::vector<int32_t> rows, columns;
  size_t first = 0;  // index in the bank of the group's first word
};

Words WordsOf(const Instruction& instruction, const Geometry& geometry, const Visit& visit,
              const PassOf& pass) {
  const Convolution& conv = instruction.convolution;
  Words words;
  words.rows.resize(static_cast<size_t>(visit.height));
  words.columns.resize(static_cast<size_t>(visit.width));
  words.first = static_cast<size_t>(pass.group_in_fill *
                                    GroupWords(instruction, geometry, visit.height, visit.width));
  const bool packed = instruction.tiling.packing == Packing::kTaps;
  const int32_t places_x = geometry.x.Places(visit.width);
  for (int32_t y = 0; y < visit.height; ++y) {
    words.rows[static_cast<size_t>(y)] =
        packed ? y * visit.width : geometry.y.Place(y, pass.tap / conv.kernel_x) * places_x;
  }
  for (int32_t x = 0; x < visit.width; ++x) {
    words.columns[static_cast<size_t>(x)] =
        packed ? x : geometry.x.Place(x, pass.tap % conv.kernel_x);
  }
  return words;
}

// Returns fp32(input scale * weight scale) for the block that contains the row tile; if only one
// operand has scales, its scale; otherwise 1.
float ScaleOf(const InputBank& bank, const StandingWeights& weights, size_t word, size_t column) {
  const float input = bank.scales.empty() ? 1.0f : bank.scales[word];
  return weights.scales.empty() ? input : input * weights.scales[column];
}

// The data of one pass. Each function below computes a pass for one kind of sums.
struct PassData {
  const Config& config;
  const ArrayNumbers& numbers;
  const StandingWeights& weights;
  const InputBank& bank;
  const Words& words;
  size_t word_codes;         // codes of an input word
  size_t rows;               // rows of the row tile
  size_t columns;            // columns of the bank, rounded up
  size_t first_accumulator;  // first accumulator of the column tile
  bool overwrite;
  AccumulationBank& accumulators;

  // Calls visit(word of the bank, first accumulator) for each pixel in order.
  template <typename Visitor>
  void ForEachPixel(const Visitor& visit) const {
    size_t at = first_accumulator;
    for (const int32_t row : words.rows) {
      for (const int32_t column : words.columns) {
        visit(words.first + static_cast<size_t>(row + column), at);
        at += columns;
      }
    }
  }
  size_t lanes() const { return static_cast<size_t>(config.array_columns); }
};

void PassOfIntegers(const PassData& pass) {
  const int16_t* codes = pass.bank.words.data() + pass.words.first * pass.word_codes;
  const PassWords places{pass.words.rows, pass.words.columns};
  if (pass.numbers.direct) {
    RunPass(pass.weights.whole, codes, places, pass.overwrite,
            pass.accumulators.sums.data() + pass.first_accumulator);
    return;
  }
  std::vector<int32_t> psums(pass.words.rows.size() * pass.words.columns.size() * pass.columns);
  RunPass(pass.weights.whole, codes, places, /*overwrite=*/true, psums.data());
  pass.ForEachPixel([&](size_t word, size_t at) {
    for (size_t c = 0; c < pass.lanes(); ++c) {
      const float scale = ScaleOf(pass.bank, pass.weights, word, c);
      const bool whole = pass.numbers.whole_accumulation;
      Accumulate(pass.numbers, pass.overwrite, psums[at - pass.first_accumulator + c], scale,
                 whole ? &pass.accumulators.sums[at + c] : nullptr,
                 whole ? nullptr : &pass.accumulators.values[at + c]);
    }
  });
}

void PassOfValues(const PassData& pass) {
  std::vector<float> psums(pass.lanes());
  pass.ForEachPixel([&](size_t word, size_t at) {
    const float* inputs = pass.bank.values.data() + word * pass.word_codes;
    std::fill(psums.begin(), psums.end(), 0.0f);
    for (size_t r = 0; r < pass.rows; ++r) {
      const float* weight = pass.weights.values.data() + r * pass.lanes();
      for (size_t c = 0; c < pass.lanes(); ++c)
        psums[c] = AddProduct(pass.numbers, psums[c], inputs[r], weight[c]);
    }
    for (size_t c = 0; c < pass.lanes(); ++c) {
      float& value = pass.accumulators.values[at + c];
      value = pass.numbers.accumulation.Fused(pass.overwrite ? 0.0f : value, psums[c],
                                              ScaleOf(pass.bank, pass.weights, word, c));
    }
  });
}

// Adds the products of one pixel to the lanes' sums, starting at sum `first`.
void AddExactly(const PassData& pass, size_t word, ExactSums& sums, size_t first) {
  const float* inputs = pass.bank.values.data() + word * pass.word_codes;
  for (size_t r = 0; r < pass.rows; ++r) {
    const float* weight = pass.weights.values.data() + r * pass.lanes();
    for (size_t c = 0; c < pass.lanes(); ++c) sums.AddProduct(first + c, inputs[r], weight[c]);
  }
}

// In a design point without block scales the accumulators are quires.
void PassOfQuires(const PassData& pass) {
  pass.ForEachPixel([&](size_t word, size_t at) {
    if (pass.overwrite) pass.accumulators.quires.Clear(at, pass.lanes());
    AddExactly(pass, word, pass.accumulators.quires, at);
  });
}

// In a design point with block scales the accumulators are numbers: each row tile's quire is
// rounded and its value accumulated, whether or not the row tile has scales.
void PassOfPartedQuires(const PassData& pass) {
  ExactSums psums;
  psums.Resize(pass.numbers.products, pass.lanes());
  pass.ForEachPixel([&](size_t word, size_t at) {
    psums.Clear(0, pass.lanes());
    AddExactly(pass, word, psums, 0);
    for (size_t c = 0; c < pass.lanes(); ++c) {
      float& value = pass.accumulators.values[at + c];
      value = pass.numbers.accumulation.Fused(pass.overwrite ? 0.0f : value, psums.Rounded(c),
                                              ScaleOf(pass.bank, pass.weights, word, c));
    }
  });
}

// Resizes a bank to `size` accumulators of the kind that an instruction needs.
void Reserve(const ArrayNumbers& numbers, bool quires, size_t size,
             AccumulationBank& accumulators) {
  accumulators.sums.resize(numbers.whole_accumulation ? size : 0);
  accumulators.values.resize(numbers.whole_accumulation || quires ? 0 : size);
  accumulators.quires.Resize(numbers.products, quires ? size : 0);
}

}  // namespace

void ArrayPass(const Instruction& instruction, const Config& config, const ArrayNumbers& numbers,
               const Geometry& geometry, const Visit& visit, const StandingWeights& weights,
               const InputBank& bank, const PassOf& pass, AccumulationBank& accumulators) {
  const size_t pixels = static_cast<size_t>(visit.pixels());
  const size_t columns = static_cast<size_t>(weights.whole.columns);
  const bool holds_quires = numbers.quire && config.block_size == 0;
  Reserve(numbers, holds_quires, static_cast<size_t>(visit.columns) * pixels * columns,
          accumulators);
  const Words words = WordsOf(instruction, geometry, visit, pass);
  const int32_t row_tile = pass.group * geometry.rows_per_group + pass.tap;
  const PassData data{.config = config,
                      .numbers = numbers,
                      .weights = weights,
                      .bank = bank,
                      .words = words,
                      .word_codes = static_cast<size_t>(WordCodes(instruction, config)),
                      .rows = static_cast<size_t>(ValidRows(instruction, config, row_tile)),
                      .columns = columns,
                      .first_accumulator = static_cast<size_t>(pass.column) * pixels * columns,
                      .overwrite = pass.overwrite,
                      .accumulators = accumulators};
  if (numbers.whole) {
    PassOfIntegers(data);
  } else if (!numbers.quire) {
    PassOfValues(data);
  } else if (holds_quires) {
    PassOfQuires(data);
  } else {
    PassOfPartedQuires(data);
  }
}

void DepthwiseStep(const Instruction& instruction, const Config& config,
                   const ArrayNumbers& numbers, const Geometry& geometry, const Visit& visit,
                   const WeightBank& weights, const InputBank& bank,
                   AccumulationBank& accumulators) {
  const Convolution& conv = instruction.convolution;
  const size_t lanes = static_cast<size_t>(config.array_columns);
  const size_t stride = static_cast<size_t>(ColumnsRoundedUp(config));
  const size_t size = static_cast<size_t>(visit.pixels()) * stride;
  const bool holds_quires = numbers.quire && config.block_size == 0;
  Reserve(numbers, holds_quires, size, accumulators);
  ExactSums exact;  // sums of one pixel
  exact.Resize(numbers.products, numbers.quire ? lanes : 0);
  if (holds_quires) accumulators.quires.Clear(0, size);
  const int32_t places_x = geometry.x.Places(visit.width);
  const int64_t region_words = GroupWords(instruction, geometry, visit.height, visit.width);
  const int64_t tile_of_fill = visit.first_column % instruction.tiling.groups_per_bank;
  const size_t region = static_cast<size_t>(tile_of_fill * region_words) * lanes;
  std::vector<int32_t> whole(lanes);
  std::vector<float> psums(lanes), totals(lanes);  // totals of the psums of a pixel's steps
  const auto psum_taps = static_cast<int32_t>(DepthwisePsumTaps(config, conv.taps()));
  const auto end_psums = [&] {
    for (size_t c = 0; c < lanes; ++c) {
      totals[c] = numbers.psum.Fused(totals[c], psums[c], 1.0f);
      psums[c] = 0.0f;
    }
  };
  size_t at = 0;
  const UserUnit* user = instruction.user_unit ? config.user_unit->unit : nullptr;
  std::vector<int8_t> input_codes(lanes), weight_codes(lanes);
  for (int32_t y = 0; y < visit.height; ++y) {
    for (int32_t x = 0; x < visit.width; ++x, at += stride) {
      std::fill(whole.begin(), whole.end(), user != nullptr ? user->Begin() : 0);
      std::fill(psums.begin(), psums.end(), 0.0f);
      std::fill(totals.begin(), totals.end(), 0.0f);
      if (numbers.quire) exact.Clear(0, lanes);
      for (int32_t tap = 0; tap < conv.taps(); ++tap) {
        const size_t place =
            region + static_cast<size_t>(geometry.y.Place(y, tap / conv.kernel_x) * places_x +
                                         geometry.x.Place(x, tap % conv.kernel_x)) *
                         lanes;
        const size_t weight = static_cast<size_t>(tap) * lanes;
        if (user != nullptr) {
          std::copy_n(bank.words.begin() + static_cast<std::ptrdiff_t>(place), lanes,
                      input_codes.begin());
          std::copy_n(weights.words.begin() + static_cast<std::ptrdiff_t>(weight), lanes,
                      weight_codes.begin());
          user->Fold(input_codes.data(), weight_codes.data(), whole);
          continue;
        }
        if (config.rounded_psums() && tap > 0 && tap % psum_taps == 0) end_psums();
        for (size_t c = 0; c < lanes; ++c) {
          if (numbers.quire) {
            ExactSums& sums = holds_quires ? accumulators.quires : exact;
            sums.AddProduct(holds_quires ? at + c : c, bank.values[place + c],
                            weights.values[weight + c]);
          } else if (numbers.whole) {
            whole[c] =
                WrappingAdd(whole[c], int32_t{bank.words[place + c]} * weights.words[weight + c]);
          } else {
            psums[c] =
                AddProduct(numbers, psums[c], bank.values[place + c], weights.values[weight + c]);
          }
        }
      }
      if (config.rounded_psums()) end_psums();
      for (size_t c = 0; c < lanes && !holds_quires; ++c) {
        if (!numbers.whole) {
          const float psum = numbers.quire ? exact.Rounded(c) : totals[c];
          accumulators.values[at + c] = numbers.accumulation.Fused(0.0f, psum, 1.0f);
        } else {
          Accumulate(numbers, /*overwrite=*/true, whole[c], 1.0f,
                     numbers.whole_accumulation ? &accumulators.sums[at + c] : nullptr,
                     numbers.whole_accumulation ? nullptr : &accumulators.values[at + c]);
        }
      }
    }
  }
}

}  // namespace kiln::systolic

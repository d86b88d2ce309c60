#include "tests/targets/systolic/random_instruction.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "kiln/support/integer.h"
#include "kiln/targets/systolic/isa/stages.h"
#include "kiln/targets/systolic/isa/walk.h"
#include "kiln/targets/systolic/simulate/numbers.h"
#include "tests/targets/systolic/fp32_machine.h"

namespace kiln::systolic {
namespace {

constexpr int kStreamAxes = kOuterLoops + 1;  // the outer loops and the innermost axis

class Builder {
 public:
  Builder(Random& random, const Config& config) : random_(random), config_(config) {}

  RandomCase Make(Opcode opcode) {
    memory_.resize(static_cast<size_t>(Between(0, 40)));  // addresses begin somewhere
    instruction_.opcode = opcode;
    instruction_.wait_distance = static_cast<uint8_t>(Chance(0.5) ? Between(1, 4) : 0);
    if (opcode == Opcode::kMatrix && config_.precisions() > 1) {
      instruction_.precision = static_cast<uint8_t>(Between(0, config_.precisions() - 1));
    }
    const bool fits = opcode != Opcode::kDepthwise || config_.block_size <= config_.array_columns;
    block_output_ = config_.block_size > 0 && fits && Chance(0.5);
    if (opcode == Opcode::kVector) {
      MakeVectorProgram();
    } else {
      MakeConvolution();
      MakeTiling();
      MakeTail();
    }
    return {std::move(instruction_), std::move(memory_)};
  }

 private:
  int32_t Between(int64_t low, int64_t high) {
    return static_cast<int32_t>(random_.Between(low, high));
  }
  bool Chance(double p) { return random_.Uniform() < p; }
  float Real(double low, double high) { return static_cast<float>(random_.Uniform(low, high)); }
  // A scale as the machine holds it.
  float Scale(double low, double high) { return systolic::RoundScale(config_, Real(low, high)); }

  // Room for `bytes` random bytes; now and then only extremes, which is where sums overflow.
  uint64_t Allocate(int64_t bytes) {
    const uint64_t base = memory_.size();
    memory_.resize(base + static_cast<size_t>(bytes));
    const bool extreme = Chance(0.1);
    for (size_t i = base; i < memory_.size(); ++i)
      memory_[i] = extreme ? 0x80 : static_cast<uint8_t>(random_());
    memory_.resize(memory_.size() + static_cast<size_t>(Between(0, 20)));
    return base;
  }
  // Room for `count` codes of a format; most of moderate values, a few any code at all.
  uint64_t AllocateCodes(const Format& format, int64_t count) {
    const uint64_t base = Allocate(count * format.bytes());
    FillCodes(format, base, count);
    return base;
  }
  void FillCodes(const Format& format, uint64_t base, int64_t count) {
    if (format.is_integer() && (format.bits == 8 || format.bits == 16))
      return;  // any bytes will do
    for (int64_t i = 0; i < count; ++i) {
      uint32_t code = static_cast<uint32_t>(random_()) & CodeMask(format);
      if (format.narrow && SignedCode(format, code) < format.min_code()) code = 0;
      if (!format.is_integer() && !Chance(0.001)) code = EncodeFloat(format, Real(-2, 2));
      StoreBits(StoredBits(format, code), format.bytes(),
                memory_.data() + base + i * format.bytes());
    }
  }
  uint64_t AllocateScales(int64_t count) {
    const Format& format = config_.scale_format;
    const size_t bytes = static_cast<size_t>(format.bytes());
    memory_.resize((memory_.size() + bytes - 1) / bytes * bytes);
    const uint64_t base = Allocate(count * format.bytes());
    for (int64_t i = 0; i < count; ++i) {
      const uint32_t code = Chance(0.001) ? static_cast<uint32_t>(random_()) & CodeMask(format)
                                          : EncodeFloat(format, std::exp2(Real(-3, 3)));
      StoreBits(code, format.bytes(), memory_.data() + base + i * format.bytes());
    }
    return base;
  }
  int64_t Blocks(int64_t length) const {
    return (length + config_.block_size - 1) / config_.block_size;
  }

  template <typename T>
  void Put(uint64_t address, T value) {
    std::memcpy(memory_.data() + address, &value, sizeof value);
  }

  // ---- matrix and depthwise

  const Format& InputFormat() const { return config_.input_format_of(instruction_.precision); }
  const Format& WeightFormat() const { return config_.weight_format_of(instruction_.precision); }

  void MakeConvolution() {
    Convolution& c = instruction_.convolution;
    const bool depthwise = instruction_.opcode == Opcode::kDepthwise;
    const bool product = !depthwise && Chance(0.25);
    bool transposed = false;
    c.batch = Chance(0.7) ? 1 : Between(2, 3);
    c.channels = Between(1, 3 * config_.array_rows + 1);
    if (depthwise && Chance(0.4)) c.channels = Between(1, 3) * config_.array_columns;
    c.out_channels = depthwise ? c.channels : Between(1, 3 * config_.array_columns + 1);
    c.width = Between(1, 12);
    if (!product) {
      c.height = Between(1, 9);
      const int32_t largest = Chance(0.8) ? 4 : 7;
      c.kernel_y = Between(1, largest);
      c.kernel_x = Between(1, largest);
      c.stride_y = Between(1, 3);
      c.stride_x = Between(1, 3);
      c.dilation_y = Chance(0.7) ? 1 : 2;
      c.dilation_x = Chance(0.7) ? 1 : 2;
      FitKernel();
      c.pad_top = Between(0, 2);
      c.pad_left = Between(0, 2);
      c.pad_code = PadCode();
      const int32_t pad_bottom = Between(0, 2), pad_right = Between(0, 2);
      const int32_t span_y =
          c.height + c.pad_top + pad_bottom - ((c.kernel_y - 1) * c.dilation_y + 1);
      const int32_t span_x =
          c.width + c.pad_left + pad_right - ((c.kernel_x - 1) * c.dilation_x + 1);
      c.out_height =
          std::max(span_y, 0) / c.stride_y + 1;  // a window that sticks out further reads padding
      c.out_width = std::max(span_x, 0) / c.stride_x + 1;
    } else {
      c.out_width = c.width;
      transposed = config_.block_size == 0 && Chance(0.3);
      if (transposed) {  // a row of the product's input is a column of an image
        c.height = c.kernel_y = std::exchange(c.channels, 1);
      }
    }

    // A grouped convolution's groups lie side by side in one pixel.
    const bool grouped = c.batch > 1 && Chance(0.5);
    const int32_t gap = Chance(0.7) ? 0 : Between(1, 5);
    const int64_t bytes = InputFormat().bytes();
    c.input_column_stride =
        (grouped ? int64_t{c.batch} * c.channels + gap : c.channels + gap) * bytes;
    c.input_row_stride =
        c.width * c.input_column_stride + (Chance(0.7) ? 0 : Between(1, 9)) * bytes;
    c.input_batch_stride = grouped ? c.channels * bytes : c.height * c.input_row_stride;
    c.input_base = AllocateCodes(InputFormat(), c.height * c.input_row_stride * c.batch / bytes);
    const bool scaled =
        config_.block_size > 0 && !depthwise && instruction_.precision == 0 && Chance(0.7);
    if (scaled && Chance(0.8)) MakeInputScales();
    if (scaled) c.weight_scales.present = !c.input_scales.present || Chance(0.8);

    if (depthwise) {
      instruction_.user_unit = config_.user_unit != nullptr && Chance(0.5);
      MakeDepthwiseWeights();
    } else if (product && Chance(0.6)) {
      instruction_.tiling.packing = transposed ? Packing::kTaps : Packing::kChannels;
      MakeStridedWeights();
    } else {
      instruction_.tiling.packing = Chance(0.4) && !scaled ? Packing::kTaps : Packing::kChannels;
      MakeTiledWeights();
    }

    const int64_t entries = c.out_channels;
    c.parameter_batch_stride = c.batch > 1 && Chance(0.5) ? 12 * entries : 0;
    const int64_t sets = c.parameter_batch_stride == 0 ? 1 : c.batch;
    c.parameters.base = Allocate(12 * entries * sets);
    for (int64_t set = 0; set < sets; ++set) {
      const uint64_t base = c.parameters.base + static_cast<uint64_t>(12 * entries * set);
      for (int64_t n = 0; n < entries; ++n) {
        const uint64_t at = base + static_cast<uint64_t>(4 * n);
        Put<int32_t>(at, Chance(0.05) ? static_cast<int32_t>(random_()) : Between(-5000, 5000));
        Put<float>(at + static_cast<uint64_t>(4 * entries), Real(1e-5, 1e-3));
        Put<float>(at + static_cast<uint64_t>(8 * entries), Real(-1, 1));
      }
    }
  }

  // A kernel whose region and, in the depthwise unit, taps the buffers hold.
  void FitKernel() {
    Convolution& c = instruction_.convolution;
    const bool depthwise = instruction_.opcode == Opcode::kDepthwise;
    const int32_t words = depthwise ? config_.depthwise_buffer_words : config_.input_buffer_words;
    const int32_t taps = depthwise ? config_.weight_buffer_words : words;
    while (c.taps() > taps ||
           ((c.kernel_y - 1) * c.dilation_y + 1) * ((c.kernel_x - 1) * c.dilation_x + 1) > words) {
      --(c.kernel_y > c.kernel_x ? c.kernel_y : c.kernel_x);
    }
  }

  int32_t PadCode() {
    const Format& format = InputFormat();
    if (format.is_integer()) return Between(format.min_code(), format.max_code());
    return static_cast<int32_t>(EncodeFloat(format, Real(-1, 1)));
  }

  // 0, or bits of a packed code.
  uint8_t RandomWeightBits() {
    const Format& format = WeightFormat();
    if (!config_.packed_weights || Chance(0.3)) return 0;
    if (format.is_integer() && format.is_signed)
      return static_cast<uint8_t>(Between(1, std::min(7, format.bits)));
    return static_cast<uint8_t>(format.bits < 8 ? format.bits : 0);
  }

  // Packs sets of `codes` weights in whole bytes at weight_base, from there on.
  void PackWeights(int64_t codes) {
    Convolution& c = instruction_.convolution;
    const int64_t columns = config_.array_columns, bytes = WeightFormat().bytes(),
                  line = (columns * c.weight_bits + 7) / 8;
    const int64_t sets = c.weight_batch_stride == 0 ? 1 : c.batch;
    if (c.weight_batch_stride != 0) c.weight_batch_stride = codes / columns * line;
    std::vector<uint8_t> packed(static_cast<size_t>(codes / columns * line * sets));
    for (int64_t i = 0; i < codes * sets; ++i) {
      const uint8_t code = memory_[c.weight_base + static_cast<uint64_t>(i * bytes)];
      for (int64_t bit = 0; bit < c.weight_bits; ++bit) {
        const int64_t at = i / columns * line * 8 + i % columns * c.weight_bits + bit;
        packed[static_cast<size_t>(at / 8)] |= static_cast<uint8_t>((code >> bit & 1) << at % 8);
      }
    }
    std::ranges::copy(packed, memory_.begin() + static_cast<int64_t>(c.weight_base));
  }

  void MakeTiledWeights() {
    Convolution& c = instruction_.convolution;
    const int64_t rows = config_.array_rows, columns = config_.array_columns;
    c.weight_layout = WeightLayout::kTiled;
    const Geometry g = GeometryOf(instruction_, config_);
    const int64_t codes = int64_t{g.column_tiles} * g.row_tiles() * rows * columns;
    const int64_t bytes = WeightFormat().bytes();
    c.weight_bits = RandomWeightBits();
    c.weight_batch_stride = c.batch > 1 && Chance(0.6) ? codes * bytes : 0;
    const int64_t sets = c.weight_batch_stride == 0 ? 1 : c.batch;
    c.weight_base = AllocateCodes(WeightFormat(), codes * sets);
    if (c.weight_scales.present) {
      const int64_t scales = codes / rows;
      c.weight_scales.batch_stride =
          c.weight_batch_stride == 0 ? 0 : scales * config_.scale_format.bytes();
      c.weight_scales.base = AllocateScales(scales * sets);
    }
    if (c.weight_bits > 0) {
      PackWeights(codes);
      return;  // codes beyond the edges are random: nothing may depend on them
    }
    uint64_t at = c.weight_base;
    for (int64_t set = 0; set < sets; ++set) {
      for (int32_t column_tile = 0; column_tile < g.column_tiles; ++column_tile) {
        for (int32_t row_tile = 0; row_tile < g.row_tiles(); ++row_tile) {
          for (int32_t row = 0; row < rows; ++row) {
            const bool valid = WeightIndex(instruction_, config_, row_tile, row) >= 0;
            for (int64_t column = 0; column < columns; ++column) {
              const bool edge = !valid || column_tile * columns + column >= c.out_channels;
              for (int64_t byte = 0; byte < bytes; ++byte, ++at) {
                if (edge) memory_[at] = 0;
              }
            }
          }
        }
      }
    }
  }

  void MakeStridedWeights() {
    Convolution& c = instruction_.convolution;
    c.weight_layout = WeightLayout::kStrided;
    const int32_t gap = Chance(0.5) ? 0 : Between(1, 5);
    const bool transposed = c.weight_scales.present || Chance(0.5);
    const int64_t code = WeightFormat().bytes();
    c.weight_row_stride = (transposed ? 1 : c.out_channels + gap) * code;
    const int64_t rows = int64_t{c.taps()} * c.channels;
    c.weight_column_stride = (transposed ? rows + gap : 1) * code;
    const int64_t bytes =
        transposed ? c.out_channels * c.weight_column_stride : rows * c.weight_row_stride;
    c.weight_batch_stride = c.batch > 1 && Chance(0.7) ? bytes : 0;
    const int64_t sets = c.weight_batch_stride == 0 ? 1 : c.batch;
    c.weight_base = AllocateCodes(WeightFormat(), bytes * sets / code);
    if (!c.weight_scales.present) return;
    const int64_t scales = Blocks(c.channels) * c.out_channels;
    c.weight_scales.column_stride = Blocks(c.channels) * config_.scale_format.bytes();
    c.weight_scales.batch_stride =
        c.weight_batch_stride == 0 ? 0 : scales * config_.scale_format.bytes();
    c.weight_scales.base = AllocateScales(scales * sets);
  }

  void MakeInputScales() {
    const Convolution& c = instruction_.convolution;
    OperandScales& s = instruction_.convolution.input_scales;
    s.present = true;
    s.column_stride = (Blocks(c.channels) + (Chance(0.7) ? 0 : 1)) * config_.scale_format.bytes();
    s.row_stride = c.width * s.column_stride;
    s.batch_stride = c.height * s.row_stride;
    s.base = AllocateScales(c.batch * s.batch_stride / config_.scale_format.bytes());
  }

  void MakeDepthwiseWeights() {
    Convolution& c = instruction_.convolution;
    const int64_t lanes = config_.array_columns;
    const int64_t tiles = (c.out_channels + lanes - 1) / lanes;
    const int64_t codes = tiles * c.taps() * lanes, bytes = WeightFormat().bytes();
    c.weight_bits = RandomWeightBits();
    c.weight_batch_stride = c.batch > 1 && Chance(0.6) ? codes * bytes : 0;
    const int64_t sets = c.weight_batch_stride == 0 ? 1 : c.batch;
    c.weight_base = AllocateCodes(WeightFormat(), codes * sets);
    for (int64_t i = 0; i < codes * sets; ++i) {
      const int64_t channel = i % codes / (c.taps() * lanes) * lanes + i % lanes;
      if (channel >= c.out_channels)
        StoreBits(0, static_cast<int>(bytes), memory_.data() + c.weight_base + i * bytes);
    }
    if (c.weight_bits > 0) PackWeights(codes);
  }

  void MakeTiling() {
    const Convolution& c = instruction_.convolution;
    Tiling& t = instruction_.tiling;
    const bool depthwise = instruction_.opcode == Opcode::kDepthwise;
    const int32_t input_words =
        depthwise ? config_.depthwise_buffer_words : config_.input_buffer_words;
    t.order = Chance(0.5) ? Order::kInputOuter : Order::kWeightOuter;
    t.tile_height = Between(1, c.out_height);
    t.tile_width = Between(1, c.out_width);
    // Shrink until the region and the accumulators fit.
    const auto words = [&] {
      return GroupWords(instruction_, GeometryOf(instruction_, config_), t.tile_height,
                        t.tile_width);
    };
    while (words() > input_words ||
           t.tile_height * t.tile_width > config_.accumulation_buffer_words) {
      int32_t& side = t.tile_height > t.tile_width ? t.tile_height : t.tile_width;
      if (side == 1) break;  // the buffers hold every kernel
      side = (side + 1) / 2;
    }
    if (depthwise) {
      if (t.order == Order::kWeightOuter) return;
      const int64_t most =
          std::min<int64_t>(GeometryOf(instruction_, config_).column_tiles, input_words / words());
      t.groups_per_bank = Chance(0.4) ? static_cast<int32_t>(most) : Between(1, most);
      return;
    }
    const Geometry g = GeometryOf(instruction_, config_);
    t.columns_per_block = Between(
        1, std::min<int64_t>({g.column_tiles, config_.parameter_buffer_words,
                              config_.accumulation_buffer_words / (t.tile_height * t.tile_width)}));
    if (block_output_) {
      // Whole scale blocks of the output leave a bank together.
      const int32_t together = std::max(1, config_.block_size / config_.array_columns);
      t.columns_per_block =
          std::min(g.column_tiles, (t.columns_per_block + together - 1) / together * together);
      const int32_t most =
          std::min(config_.parameter_buffer_words, config_.accumulation_buffer_words);
      if (t.columns_per_block > most ||
          t.columns_per_block * t.tile_height * t.tile_width > config_.accumulation_buffer_words) {
        t.tile_height = t.tile_width = 1;
        block_output_ = t.columns_per_block <= most;
        if (!block_output_) t.columns_per_block = 1;
      }
    }
    t.groups_per_bank = Between(1, std::min<int64_t>(g.groups, input_words / words()));
    t.weight_tiles_per_bank = Between(1, config_.weight_buffer_words / config_.array_rows);
  }

  // ---- vector programs

  void MakeTail() {
    const Convolution& c = instruction_.convolution;
    VectorProgram& v = instruction_.vector;
    v.outer = {c.batch, c.out_height, c.out_width, 1};
    v.length = c.out_channels;
    const int operands = Between(0, kMaxOperands);
    for (int i = 0; i < operands; ++i) v.operands.push_back(RandomOperand());
    Pass pass;
    pass.source = Source::kAccumulator;
    pass.stages = RandomStages(/*first_operand=*/0, /*scalars=*/0);
    pass.to_memory = true;
    v.passes = {pass};
    MakeOutput();
  }

  void MakeVectorProgram() {
    VectorProgram& v = instruction_.vector;
    for (int32_t& count : v.outer) count = Between(1, 4);
    v.length = Chance(0.2) ? 1 : Between(1, 5 * config_.lanes() + 2);
    const bool windowed = Chance(0.3);
    if (windowed) MakeWindow();
    const int operands = Between(windowed ? 1 : 0, kMaxOperands);
    for (int i = windowed ? 1 : 0; i < operands; ++i) v.operands.push_back(RandomOperand());

    const int passes = Chance(0.5) ? 1 : Between(2, kMaxPasses);
    const int writer = Between(0, passes - 1);
    const bool row_fits =
        (v.length + config_.lanes() - 1) / config_.lanes() <= config_.vector_row_buffer_words;
    uint32_t scalars = 0;  // bit i: s_i has been set
    bool kept = false;
    for (int i = 0; i < passes; ++i) {
      Pass pass;
      std::vector<Source> sources = {Source::kConstant};
      if (operands > 0 && (!windowed || i == 0))
        sources = {Source::kOperand0, Source::kOperand0, Source::kConstant};
      if (kept) sources.push_back(Source::kRowBuffer);
      pass.source = windowed && i == 0 ? Source::kOperand0 : sources[random_.Below(sources.size())];
      pass.constant = pass.source == Source::kConstant ? Real(-3, 3) : 0;
      pass.stages = RandomStages(windowed ? 1 : 0, scalars);
      if (Chance(passes > 1 ? 0.6 : 0.1)) {
        pass.reduce = Chance(0.5) ? Reduce::kSum : Reduce::kMax;
        pass.into = static_cast<uint8_t>(Between(0, kScalars - 1));
        if (Chance(0.6)) pass.scalar_stages = RandomScalarStages(scalars);
        scalars |= 1u << pass.into;
      }
      if (row_fits && i + 1 < passes && Chance(0.5)) pass.to_row_buffer = kept = true;
      pass.to_memory = i == writer;
      v.passes.push_back(std::move(pass));
    }
    MakeOutput();
  }

  void MakeWindow() {
    VectorProgram& v = instruction_.vector;
    Window& w = v.window;
    w.combine = Chance(0.5) ? Combine::kMax : Combine::kSum;
    w.window_y = Between(1, 4);
    w.window_x = Between(1, 4);
    w.stride_y = Between(1, 3);
    w.stride_x = Between(1, 3);
    w.dilation_y = Chance(0.7) ? 1 : 2;
    w.dilation_x = Chance(0.7) ? 1 : 2;
    // Every window has a place inside the image.
    w.pad_top = Between(0, std::min(2, (w.window_y - 1) * w.dilation_y));
    w.pad_left = Between(0, std::min(2, (w.window_x - 1) * w.dilation_x));
    w.height = std::max(Between(1, 9), (v.outer[1] - 1) * w.stride_y - w.pad_top + 1);
    w.width = std::max(Between(1, 9), (v.outer[2] - 1) * w.stride_x - w.pad_left + 1);
    w.average = w.combine == Combine::kSum && Chance(0.8);
    w.divide_by_valid = Chance(0.5);
    v.outer[3] = 1;
    Stream s = RandomElement();
    const int64_t bytes = BytesOf(s.element, config_);
    s.element_stride = bytes;
    w.column_stride = v.length * s.element_stride + (Chance(0.5) ? 0 : Between(1, 7) * bytes);
    w.row_stride = w.width * w.column_stride;
    s.outer_stride[0] = w.height * w.row_stride;
    s.base = Allocate(v.outer[0] * s.outer_stride[0]);
    Fill(s.element, s.base, v.outer[0] * s.outer_stride[0]);
    if (s.element == Element::kInput && config_.block_size > 0 && Chance(0.5)) {
      BlockScales& b = s.blocks;
      b.present = true;
      b.column_stride = Blocks(v.length) * config_.scale_format.bytes();
      b.row_stride = w.width * b.column_stride;
      b.outer_stride[0] = w.height * b.row_stride;
      b.base = AllocateScales(v.outer[0] * b.outer_stride[0] / config_.scale_format.bytes());
    }
    v.operands.push_back(s);
  }

  Stream RandomElement() {
    Stream s;
    s.element = RandomKind();
    if (IsCode(s.element)) s.scale = Scale(0.25, 2);
    if (IsInteger(s.element)) {
      const double range = s.element == Element::kInt32   ? 0x1p31
                           : s.element == Element::kInt16 ? 0x1p15
                                                          : 0x1p7;
      s.scale = Scale(0.5 / range, 4 / range);
      s.zero_point = Chance(0.3) ? 0 : Between(-130, 260);
    }
    return s;
  }

  // Design points of integers have integers and fp32 in memory and nothing else.
  Element RandomKind() {
    const bool plain = config_.input_format.name == "int8" && !config_.narrow_vector() &&
                       config_.block_size == 0 && config_.precisions() == 1;
    const int end = static_cast<int>(InputElement(config_.precisions()));
    const int begin = config_.integer_elements ? 0 : static_cast<int>(Element::kFloat32);
    return static_cast<Element>(Between(begin, plain ? 4 : end - 1));
  }

  void Fill(Element element, uint64_t base, int64_t bytes) {
    if (element > Element::kFloat32) {
      const Format& format = FormatOf(element, config_);
      FillCodes(format, base, bytes / format.bytes());
      return;
    }
    if (element != Element::kFloat32) return;  // any bytes will do
    for (int64_t i = 0; i + 4 <= bytes; i += 4) {
      Put<float>(base + static_cast<uint64_t>(i), Chance(0.05) ? -0.0f : Real(-4, 4));
    }
  }

  // Strides of a dense layout in which the axes stand in any order and `used` ones only; returns
  // its bytes.
  int64_t Lay(Stream& s, const std::array<bool, kStreamAxes>& used) {
    const VectorProgram& v = instruction_.vector;
    std::array<int, kStreamAxes> order;
    std::iota(order.begin(), order.end(), 0);
    if (Chance(0.4)) std::shuffle(order.begin(), order.end(), random_);
    int64_t stride = BytesOf(s.element, config_);
    for (int i = kStreamAxes - 1; i >= 0; --i) {
      const int axis = order[static_cast<size_t>(i)];
      if (!used[static_cast<size_t>(axis)]) continue;
      const bool inner = axis == kOuterLoops;
      (inner ? s.element_stride : s.outer_stride[static_cast<size_t>(axis)]) = stride;
      stride *= inner ? v.length : v.outer[static_cast<size_t>(axis)];
      if (Chance(0.1)) stride += BytesOf(s.element, config_);
    }
    return stride;
  }

  // Dense rows, each with its own scales.
  void LayBlocks(Stream& s) {
    const VectorProgram& v = instruction_.vector;
    s.element = Element::kInput;
    s.blocks.present = true;
    int64_t stride = config_.input_format.bytes(), scale_stride = config_.scale_format.bytes();
    s.element_stride = stride;
    stride *= v.length;
    scale_stride *= Blocks(v.length);
    for (size_t i = kOuterLoops; i-- > 0;) {
      s.outer_stride[i] = stride;
      s.blocks.outer_stride[i] = scale_stride;
      stride *= v.outer[i];
      scale_stride *= v.outer[i];
    }
    s.base = AllocateCodes(config_.input_format, stride / config_.input_format.bytes());
    s.blocks.base = AllocateScales(scale_stride / config_.scale_format.bytes());
  }

  Stream RandomOperand() {
    Stream s = RandomElement();
    if (config_.block_size > 0 && Chance(0.3)) {
      s = Stream{};
      LayBlocks(s);
      return s;
    }
    std::array<bool, kStreamAxes> used;
    const bool dense = Chance(0.5);
    for (bool& u : used) u = dense || Chance(0.5);
    const int64_t bytes = Lay(s, used);
    s.base = Allocate(bytes);
    Fill(s.element, s.base, bytes);
    return s;
  }

  void MakeOutput() {
    VectorProgram& v = instruction_.vector;
    v.output = Stream{};
    if (block_output_) {
      LayBlocks(v.output);
      return;
    }
    v.output.element = RandomKind();
    std::array<bool, kStreamAxes> used;
    used.fill(true);
    v.output.base = Allocate(Lay(v.output, used));
    QuantiseOut& q = v.quantise;
    switch (v.output.element) {
      case Element::kInt8:
        q.low = -128, q.high = 127;
        break;
      case Element::kUint8:
        q.low = 0, q.high = 255;
        break;
      case Element::kInt16:
        q.low = -32768, q.high = 32767;
        break;
      case Element::kInt32:
        q.low = INT32_MIN, q.high = INT32_MAX;
        break;
      case Element::kFloat32:
      case Element::kVector:
        return;
      default:
        q.inverse_scale = Scale(0.25, 4);
        return;
    }
    if (Chance(0.2)) q.low /= 2, q.high /= 3;
    q.zero_point = Chance(0.4) ? 0 : Between(q.low / 2, q.high / 2);
    q.inverse_scale = Scale(0.001 * q.high, q.high);
  }

  Argument RandomArgument(int first_operand, uint32_t scalars, uint32_t saved) {
    std::vector<Argument> choices = {Argument::kImmediate};
    for (size_t i = static_cast<size_t>(first_operand); i < instruction_.vector.operands.size();
         ++i) {
      const auto a = static_cast<Argument>(static_cast<size_t>(Argument::kOperand0) + i);
      choices.insert(choices.end(), 2, a);
    }
    for (int i = 0; i < kScalars; ++i) {
      if (scalars >> i & 1)
        choices.push_back(static_cast<Argument>(static_cast<int>(Argument::kScalar0) + i));
    }
    for (int i = 0; i < kSaved; ++i) {
      if (saved >> i & 1)
        choices.push_back(static_cast<Argument>(static_cast<int>(Argument::kSaved0) + i));
    }
    return choices[random_.Below(choices.size())];
  }

  // For stage `place` of a pass.
  Stage RandomStage(int place, int first_operand, uint32_t scalars, uint32_t saved, bool may_save) {
    Stage s;
    do {
      s.op = static_cast<StageOp>(Between(0, 15));
    } while ((!may_save && (s.op == StageOp::kSave0 || s.op == StageOp::kSave1)) ||
             !HasStageFor(s.op, place, config_));
    switch (s.op) {
      case StageOp::kAbsolute:
      case StageOp::kSquare:
      case StageOp::kSave0:
      case StageOp::kSave1:
      case StageOp::kReciprocal:
      case StageOp::kReciprocalSquareRoot:
        return s;
      case StageOp::kFunction:
        s.function = static_cast<NonlinearFunction>(Between(0, static_cast<int>(kLastFunction)));
        return s;
      case StageOp::kFma:
        s.b = RandomArgument(first_operand, scalars, saved);
        s.immediate_b = s.b == Argument::kImmediate ? Real(-2, 2) : 0;
        break;
      default:
        break;
    }
    s.a = RandomArgument(first_operand, scalars, saved);
    s.immediate_a = s.a == Argument::kImmediate ? Real(-2, 2) : 0;
    return s;
  }

  std::vector<Stage> RandomStages(int first_operand, uint32_t scalars) {
    std::vector<Stage> stages;
    const int count = Between(0, std::min(config_.vector_stages, Chance(0.8) ? 5 : kMaxStages));
    uint32_t saved = 0;
    for (int i = 0; i < count; ++i) {
      stages.push_back(RandomStage(i, first_operand, scalars, saved, /*may_save=*/true));
      if (stages.back().op == StageOp::kSave0) saved |= 1;
      if (stages.back().op == StageOp::kSave1) saved |= 2;
    }
    return stages;
  }

  // Arguments: immediates and scalars only.
  std::vector<Stage> RandomScalarStages(uint32_t scalars) {
    std::vector<Stage> stages;
    const int count = Between(1, std::min(3, config_.vector_stages));
    for (int i = 0; i < count; ++i) {
      stages.push_back(RandomStage(i, kMaxOperands, scalars, /*saved=*/0, /*may_save=*/false));
    }
    return stages;
  }

  Random& random_;
  const Config& config_;
  Instruction instruction_;
  std::vector<uint8_t> memory_;
  bool block_output_ = false;
};

// Words that a beat may bring into a depthwise bank: as many as the port has room for, or fewer.
int DepthwiseWords(Random& random, const Config& c) {
  const int64_t word = c.depthwise_word_bytes();
  int words = 1;
  while (IsPowerOfTwo(word) && 2 * words <= kMostDepthwiseWords &&
         2 * words * word <= c.input_port_bytes && random.Below(4) > 0) {
    words *= 2;
  }
  return words;
}

}  // namespace

Config RandomConfig(Random& random) {
  const auto between = [&random](int64_t low, int64_t high) {
    return static_cast<int>(random.Between(low, high));
  };
  Config c = Fp32Machine();
  c.name = "random";
  c.array_rows = between(1, 8);
  c.array_columns = between(1, 8);
  do {
    c.weight_rows_per_cycle = between(1, c.array_rows);
  } while (c.array_rows % c.weight_rows_per_cycle != 0);
  c.input_format = *FindFormat("int8");
  c.weight_format = *FindFormat("int8");
  c.vector_format = *FindFormat("fp32");
  c.accumulation_format =
      *FindFormat("int" + std::to_string(between(0, 1) == 0 ? 32 : between(16, 31)));
  c.input_buffer_words = between(64, 256);
  c.weight_buffer_words = c.array_rows * between((16 + c.array_rows - 1) / c.array_rows,
                                                 24);  // a depthwise kernel fits
  c.accumulation_buffer_words = between(1, 64);
  c.accumulation_buffer_banks = between(1, 2);
  c.parameter_buffer_words = (c.accumulation_buffer_words + 1) / 2;
  c.vector_stages = kMaxStages;
  c.vector_stage_latency = between(1, 5);
  c.vector_row_buffer_words = between(2, 16);
  c.vector_rows_in_flight = between(1, 8);
  c.operand_buffer_words = between(kLeastOperandBuffer, 40);
  c.depthwise_multipliers = between(0, 9);
  c.depthwise_buffer_words = between(64, 256);
  c.input_port_bytes = 1 << between(3, 7);
  c.weight_port_bytes = 1 << between(3, 7);
  c.operand_port_bytes = 1 << between(3, 7);
  c.output_port_bytes = 1 << between(3, 7);
  c.depthwise_words_per_cycle = DepthwiseWords(random, c);
  c.memory_latency = between(kLeastMemoryLatency, 20);
  c.instruction_bytes_per_cycle = 1 << between(3, 7);
  c.command_queue_depth = between(1, 4);
  c.vector_function_latency = between(0, 5);
  c.vector_convert_latency = between(0, 5);
  c.packed_weights = between(0, 1) == 1;
  return c;
}

void RandomFormats(Random& random, Config* config) {
  const auto pick = [&](std::initializer_list<const char*> names) {
    return *FindFormat(names.begin()[random.Below(names.size())]);
  };
  const auto chance = [&](double p) { return random.Uniform() < p; };
  Config& c = *config;
  if (chance(0.4)) {
    c.input_format = pick({"int8", "int4", "int16", "fixed8_6", "int8.toward_zero"});
    c.weight_format = pick({"int8", "int3", "int16", "ternary", "binary"});
  } else {
    c.input_format =
        pick({"e4m3", "e5m2", "bf16", "fp16", "posit8_1", "int8", "fp32", "nf4", "e2m1"});
    c.weight_format =
        pick({"e4m3", "e4m3_fnuz", "bf16", "posit8_1", "posit6_1", "nf4", "fixed8_4", "e3m2"});
  }
  RandomSums(random, config);
}

void RandomSums(Random& random, Config* config) {
  const auto pick = [&](std::initializer_list<const char*> names) {
    return *FindFormat(names.begin()[random.Below(names.size())]);
  };
  const auto chance = [&](double p) { return random.Uniform() < p; };
  Config& c = *config;
  c.other_precisions.clear();
  const int block =
      c.array_columns % c.array_rows == 0 ? c.array_rows : c.array_rows * c.array_columns;
  c.block_size = chance(0.4) ? block * (chance(0.5) ? c.array_columns : 1) : 0;
  c.scale_format = pick({"e8m0", "e8m0", "ue5m3", "fp16"});
  SetDefaultSums(&c);
  if (c.psum_format.is_integer() && chance(0.5)) c.psum_format = pick({"int20", "int24", "int17"});
  if (c.accumulation_format.is_integer() && chance(0.5))
    c.accumulation_format = pick({"int24", "int18"});
  if (!c.psum_format.is_integer() && chance(0.6)) {
    c.psum_format = pick({"fp32", "fp16", "posit16_1", "e6m9", "bf16.toward_zero", "tf32"});
    c.product_rounded = chance(0.3);
  }
  c.quire = !c.psum_format.is_integer() && !c.product_rounded && chance(0.25);
  if (!c.accumulation_format.is_integer() && chance(0.4))
    c.accumulation_format = pick({"bf16", "fp16", "posit16_2"});
  c.vector_format = pick({"fp32", "bf16", "bf16.flush", "fp16", "e6m9", "tf32.flush"});
  c.vector_function_latency = std::max(c.vector_function_latency, LeastFunctionLatency(c));
  c.depthwise_words_per_cycle = DepthwiseWords(random, c);
  // Further precisions: what fits the first one's sums and places in memory. By a generator of
  // their own, so that what else comes of a seed does not depend on them.
  Random others = random;
  const auto other = [&](std::initializer_list<const char*> names) {
    return *FindFormat(names.begin()[others.Below(names.size())]);
  };
  for (uint64_t tries = others.Below(24); tries > 12 && c.precisions() < kMostPrecisions; --tries) {
    OperandFormats pair;
    if (c.psum_format.is_integer()) {
      pair.input = other({"int8", "int4", "int16", "fixed8_6", "fixed8_4", "ternary"});
      pair.weight = other({"int8", "int3", "int16", "ternary", "binary", "fixed8_6"});
    } else {
      pair.input = other({"e4m3", "e5m2", "int8", "bf16", "posit8_1", "nf4", "fp16"});
      pair.weight = other({"e4m3", "bf16", "posit6_1", "nf4", "int8", "e2m1"});
    }
    c.other_precisions.push_back(std::move(pair));
    if (FindFormatFault(c).has_value()) c.other_precisions.pop_back();
  }
  c.array_product_latency = static_cast<int>(others.Below(2));
  const bool one_cycle = c.psum_format.is_integer() || c.quire;
  c.array_sum_latency = one_cycle ? 1 : 1 + static_cast<int>(others.Below(2));
  c.depthwise_sum_latency = one_cycle ? 1 : 1 + static_cast<int>(others.Below(2));
  const int most = std::min(c.exact_accumulators() ? 1 : 3, c.weight_load_cycles());
  c.accumulation_latency = 1 + static_cast<int>(others.Below(static_cast<uint64_t>(most)));
}

RandomCase RandomInstruction(Random& random, const Config& config, Opcode opcode) {
  const bool depthwise = opcode == Opcode::kDepthwise && config.depthwise_multipliers > 0;
  return Builder(random, config)
      .Make(opcode == Opcode::kDepthwise && !depthwise ? Opcode::kMatrix : opcode);
}

}  // namespace kiln::systolic

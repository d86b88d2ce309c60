// Executes vector programs piece by piece, for VectorEngine.
#include "kiln/targets/systolic/simulate/functional/vector_engine.h"

#include <algorithm>
#include <cstring>

#include "kiln/targets/systolic/simulate/arithmetic.h"
#include "kiln/targets/systolic/simulate/functional/reduce_tree.h"

namespace kiln::systolic {
namespace {

constexpr int64_t kPieceValues =
    512;  // a handful of arrays of this many floats fit the first-level cache

}  // namespace

// The buffers of one call of Run.
struct VectorEngine::Scratch {
  explicit Scratch(int64_t capacity) {
    const auto size = static_cast<size_t>(capacity + kFloatSlack);
    values.resize(size);
    for (auto& operand : operands) operand.resize(size);
    for (auto& lane_values : saved) lane_values.resize(size);
    window.resize(size);
    codes.resize(size * 4);
  }

  std::vector<float> values;
  std::array<std::vector<float>, kMaxOperands> operands;
  std::array<bool, kMaxOperands> loaded{};  // for the current piece
  std::array<std::vector<float>, kSaved> saved;
  std::vector<float> window;
  std::vector<uint8_t> codes;
  // State of the current row.
  std::array<float, kScalars> scalars{};
  std::vector<float> row_buffer;
  std::vector<float> partials;
};

VectorEngine::VectorEngine(const VectorProgram& program, const Numbers& numbers)
    : program_(&program),
      numbers_(&numbers),
      kernels_(&GetVectorKernels()),
      lanes_(numbers.config().lanes()),
      element_bytes_(BytesOf(program.output.element, numbers.config())),
      piece_(kPieceValues) {
  if (program.output.blocks.present) {
    const int64_t block = numbers.config().block_size;
    piece_ = std::max<int64_t>(kPieceValues / block, 1) * block;
  }
  for (int32_t count : program.outer) rows_ *= count;
  for (const Stream& stream : program.operands) operands_.push_back(RowsOf(stream));
  output_ = RowsOf(program.output);
}

VectorEngine::Rows VectorEngine::RowsOf(const Stream& stream) const {
  const int64_t bytes = BytesOf(stream.element, numbers_->config());
  Rows rows{&stream, true, 0, stream.element_stride == bytes, false};
  int64_t expected = 0;  // the stride expected of the next outer loop
  bool any = false;
  for (int i = kOuterLoops - 1; i >= 0; --i) {
    const int32_t count = program_->outer[static_cast<size_t>(i)];
    if (count == 1) continue;
    const int64_t stride = stream.outer_stride[static_cast<size_t>(i)];
    if (!any) {
      any = true;
      rows.step = stride;
    } else if (stride != expected) {
      rows.linear = false;
    }
    expected = stride * count;
  }
  rows.dense_rows = rows.linear && rows.dense_elements && !stream.blocks.present &&
                    (!any || rows.step == program_->length * stream.element_stride);
  return rows;
}

std::array<int64_t, kOuterLoops> VectorEngine::IndexOf(int64_t row) const {
  std::array<int64_t, kOuterLoops> index;
  for (size_t i = kOuterLoops; i-- > 0;) {
    index[i] = row % program_->outer[i];
    row /= program_->outer[i];
  }
  return index;
}

int64_t VectorEngine::AddressOf(const Rows& rows, int64_t row) const {
  const int64_t base = static_cast<int64_t>(rows.stream->base);
  if (rows.linear) return base + row * rows.step;
  const auto index = IndexOf(row);
  int64_t address = base;
  for (size_t i = 0; i < kOuterLoops; ++i) address += index[i] * rows.stream->outer_stride[i];
  return address;
}

int64_t VectorEngine::ScaleAddressOf(const Stream& stream, int64_t row) const {
  const auto index = IndexOf(row);
  int64_t address = static_cast<int64_t>(stream.blocks.base);
  for (size_t i = 0; i < kOuterLoops; ++i) address += index[i] * stream.blocks.outer_stride[i];
  return address;
}

void VectorEngine::LoadDense(const Stream& stream, float factor, const uint8_t* from, int64_t count,
                             float* out) const {
  if (stream.element == Element::kVector) {
    numbers_->TableOf(stream.element).DecodeCodes(from, count, out);
    return;
  }
  if (IsCode(stream.element)) {
    numbers_->TableOf(stream.element).DecodeCodes(from, count, out);
  } else if (!numbers_->narrow() || !IsInteger(stream.element)) {
    kernels_->load(stream.element, factor, stream.zero_point, from, count, out);
    numbers_->Round(out, count);
    return;
  } else {
    kernels_->load(stream.element, 1.0f, stream.zero_point, from, count, out);
  }
  numbers_->RoundFactors(out, count);
  for (int64_t n = 0; factor != 1.0f && n < count; ++n) out[n] *= factor;
  numbers_->Round(out, count);
}

void VectorEngine::LoadBlocks(const Stream& stream, const uint8_t* from, const uint8_t* scales,
                              int64_t first, int64_t count, float* out) const {
  const int64_t block = numbers_->config().block_size,
                bytes = numbers_->config().scale_format.bytes();
  numbers_->TableOf(stream.element).DecodeCodes(from, count, out);
  numbers_->RoundFactors(out, count);
  for (int64_t n = 0; n < count;) {
    const int64_t end = std::min(count, ((first + n) / block + 1) * block - first);
    const float factor = BlockFactor(*numbers_, stream, scales + (first + n) / block * bytes);
    for (; n < end; ++n) out[n] *= factor;
  }
  numbers_->Round(out, count);
}

void VectorEngine::LoadStream(const Rows& rows, const Piece& piece, const uint8_t* memory,
                              float* out) const {
  const Stream& s = *rows.stream;
  if (rows.dense_rows) {
    const uint8_t* from = memory + AddressOf(rows, piece.row) + piece.first * s.element_stride;
    LoadDense(s, s.scale, from, piece.count(), out);
    return;
  }
  for (int64_t r = 0; r < piece.rows; ++r, out += piece.columns) {
    const uint8_t* from = memory + AddressOf(rows, piece.row + r) + piece.first * s.element_stride;
    if (s.blocks.present) {
      LoadBlocks(s, from, memory + ScaleAddressOf(s, piece.row + r), piece.first, piece.columns,
                 out);
    } else if (r > 0 && rows.linear && rows.step == 0) {
      std::memcpy(out, out - piece.columns, static_cast<size_t>(piece.columns) * sizeof(float));
    } else if (rows.dense_elements) {
      LoadDense(s, s.scale, from, piece.columns, out);
    } else if (s.element_stride == 0) {
      std::fill_n(out, piece.columns, LoadValue(*numbers_, s, from));
    } else {
      for (int64_t n = 0; n < piece.columns; ++n)
        out[n] = LoadValue(*numbers_, s, from + n * s.element_stride);
    }
  }
}

void VectorEngine::LoadWindow(const Piece& piece, const uint8_t* memory, Scratch& scratch,
                              float* out) const {
  const Window& w = program_->window;
  const Stream& s = program_->operands[0];
  const bool dense = operands_[0].dense_elements;
  for (int64_t r = 0; r < piece.rows; ++r, out += piece.columns) {
    const auto index = IndexOf(piece.row + r);
    std::fill_n(out, piece.columns, NeutralOf(*numbers_, w.combine));
    int32_t places = 0;
    for (int64_t ky = 0; ky < w.window_y; ++ky) {
      const int64_t y = index[1] * w.stride_y - w.pad_top + ky * w.dilation_y;
      if (y < 0 || y >= w.height) continue;
      for (int64_t kx = 0; kx < w.window_x; ++kx) {
        const int64_t x = index[2] * w.stride_x - w.pad_left + kx * w.dilation_x;
        if (x < 0 || x >= w.width) continue;
        const uint8_t* from = memory + static_cast<int64_t>(s.base) + index[0] * s.outer_stride[0] +
                              index[3] * s.outer_stride[3] + y * w.row_stride +
                              x * w.column_stride + piece.first * s.element_stride;
        float* values = scratch.window.data();
        if (s.blocks.present) {
          const uint8_t* scales = memory + static_cast<int64_t>(s.blocks.base) +
                                  index[0] * s.blocks.outer_stride[0] +
                                  index[3] * s.blocks.outer_stride[3] + y * s.blocks.row_stride +
                                  x * s.blocks.column_stride;
          LoadBlocks(s, from, scales, piece.first, piece.columns, values);
        } else if (dense) {
          LoadDense(s, s.scale, from, piece.columns, values);
        } else {
          for (int64_t n = 0; n < piece.columns; ++n)
            values[n] = LoadValue(*numbers_, s, from + n * s.element_stride);
        }
        kernels_->join(w.combine == Combine::kMax, out, values, piece.columns);
        numbers_->Round(out, piece.columns);
        ++places;
      }
    }
    if (w.average) {
      const float factor = AverageFactor(*numbers_, w, places);
      for (int64_t n = 0; n < piece.columns; ++n) out[n] *= factor;
      numbers_->Round(out, piece.columns);
    }
  }
}

void VectorEngine::LoadAccumulators(const AccumulatorRows& in, const Piece& piece,
                                    float* out) const {
  if (!numbers_->narrow()) {
    kernels_->from_accumulators(in, piece.rows, piece.first, piece.columns, out);
    return;
  }
  const int64_t count = piece.count();
  const auto each_row = [&](auto body) {
    for (int64_t r = 0; r < piece.rows; ++r) {
      for (int64_t n = 0; n < piece.columns; ++n) {
        float& value = out[r * piece.columns + n];
        value = body(r * in.stride + piece.first + n, piece.first + n, value);
      }
    }
    numbers_->Round(out, count);
  };
  each_row([&](int64_t at, int64_t column, float) {
    if (in.values != nullptr) return in.values[at];
    return static_cast<float>(
        WrappingAdd(WrapAccumulator(in.sums[at], in.bits), in.offset[column]));
  });
  each_row([&](int64_t, int64_t column, float v) { return v * in.scale[column]; });
  each_row([&](int64_t, int64_t column, float v) { return v + in.bias[column]; });
}

// Stores dense elements, without block scales. Of the scratch it modifies only the window.
void VectorEngine::StoreDense(const float* values, int64_t count, Scratch& scratch,
                              uint8_t* to) const {
  const Element element = program_->output.element;
  const QuantiseOut& quantise = program_->quantise;
  if (element == Element::kVector) {
    numbers_->TableOf(element).EncodeValues(values, count, to);
  } else if (IsCode(element)) {
    float* scaled = scratch.window.data();
    for (int64_t n = 0; n < count; ++n) scaled[n] = values[n] * quantise.inverse_scale;
    numbers_->TableOf(element).EncodeValues(scaled, count, to);
  } else if (StoreFits(element, quantise)) {
    kernels_->store(element, quantise, values, count, to);
  } else {
    for (int64_t n = 0; n < count; ++n)
      StoreValue(*numbers_, element, quantise, values[n], to + n * element_bytes_);
  }
}

void VectorEngine::StoreStream(const Piece& piece, Scratch& scratch, uint8_t* memory) const {
  const Stream& s = program_->output;
  const float* values = scratch.values.data();
  if (output_.dense_rows) {
    StoreDense(values, piece.count(), scratch,
               memory + AddressOf(output_, piece.row) + piece.first * s.element_stride);
    return;
  }
  for (int64_t r = 0; r < piece.rows; ++r, values += piece.columns) {
    uint8_t* to = memory + AddressOf(output_, piece.row + r) + piece.first * s.element_stride;
    if (s.blocks.present) {
      const BlockCodec& codec = numbers_->blocks();
      uint8_t* scales = memory + ScaleAddressOf(s, piece.row + r) +
                        piece.first / codec.block_size() * codec.scale_format().bytes();
      codec.Encode(values, 1, piece.columns, to, scales);
    } else if (output_.dense_elements) {
      StoreDense(values, piece.columns, scratch, to);
    } else {
      const uint8_t* codes = scratch.codes.data();
      StoreDense(values, piece.columns, scratch, scratch.codes.data());
      for (int64_t n = 0; n < piece.columns; ++n, codes += element_bytes_) {
        std::memcpy(to + n * s.element_stride, codes, static_cast<size_t>(element_bytes_));
      }
    }
  }
}

void VectorEngine::RunStages(const std::vector<Stage>& stages, const Piece& piece, Scratch& scratch,
                             const uint8_t* memory) const {
  const int64_t count = piece.count();
  const auto resolve = [&](Argument a, float immediate) -> StageArgument {
    switch (a) {
      case Argument::kNone:
        return {};
      case Argument::kImmediate:
        return {nullptr, numbers_->Round(immediate)};
      case Argument::kOperand0:
      case Argument::kOperand1:
      case Argument::kOperand2: {
        const auto i = static_cast<size_t>(a) - static_cast<size_t>(Argument::kOperand0);
        if (!scratch.loaded[i]) LoadStream(operands_[i], piece, memory, scratch.operands[i].data());
        scratch.loaded[i] = true;
        return {scratch.operands[i].data(), 0};
      }
      case Argument::kSaved0:
        return {scratch.saved[0].data(), 0};
      case Argument::kSaved1:
        return {scratch.saved[1].data(), 0};
      default:
        return {nullptr,
                scratch.scalars[static_cast<size_t>(a) - static_cast<size_t>(Argument::kScalar0)]};
    }
  };
  float* values = scratch.values.data();
  const std::span<float> span(values, static_cast<size_t>(count));
  for (const Stage& stage : stages) {
    switch (stage.op) {
      case StageOp::kSave0:
      case StageOp::kSave1:
        std::copy_n(values, count, scratch.saved[stage.op == StageOp::kSave0 ? 0 : 1].data());
        break;
      case StageOp::kFunction:
        numbers_->Apply(stage.function, span);
        break;
      case StageOp::kReciprocal:
        numbers_->Apply(NonlinearFunction::kReciprocal, span);
        break;
      case StageOp::kReciprocalSquareRoot:
        numbers_->Apply(NonlinearFunction::kReciprocalSquareRoot, span);
        break;
      case StageOp::kFma:
        if (numbers_->narrow()) {
          kernels_->stage(StageOp::kMultiply, values, resolve(stage.a, stage.immediate_a), {},
                          count);
          numbers_->Round(values, count);
          kernels_->stage(StageOp::kAdd, values, resolve(stage.b, stage.immediate_b), {}, count);
          numbers_->Round(values, count);
          break;
        }
        [[fallthrough]];
      default:
        kernels_->stage(stage.op, values, resolve(stage.a, stage.immediate_a),
                        resolve(stage.b, stage.immediate_b), count);
        numbers_->Round(values, count);
    }
  }
}

void VectorEngine::RunPass(const Pass& pass, const Piece& piece,
                           const AccumulatorRows* accumulators, int64_t accumulator_row,
                           Scratch& scratch, uint8_t* memory) const {
  float* values = scratch.values.data();
  scratch.loaded.fill(false);
  switch (pass.source) {
    case Source::kAccumulator: {
      AccumulatorRows rows = *accumulators;
      if (rows.sums != nullptr) rows.sums += accumulator_row * rows.stride;
      if (rows.values != nullptr) rows.values += accumulator_row * rows.stride;
      LoadAccumulators(rows, piece, values);
      break;
    }
    case Source::kOperand0:
      if (program_->window.combine != Combine::kNone) {
        LoadWindow(piece, memory, scratch, values);
      } else {
        LoadStream(operands_[0], piece, memory, values);
      }
      break;
    case Source::kRowBuffer:
      std::copy_n(scratch.row_buffer.data() + piece.first, piece.columns, values);
      break;
    case Source::kConstant:
      std::fill_n(values, piece.count(), numbers_->Round(pass.constant));
      break;
  }
  RunStages(pass.stages, piece, scratch, memory);
}

// Returns the values per piece of a row: whole words and whole blocks, one of which divides the
// other.
int64_t VectorEngine::WordsPiece() const {
  const int64_t unit = program_->output.blocks.present
                           ? std::max<int64_t>(lanes_, numbers_->config().block_size)
                           : lanes_;
  return std::max<int64_t>(kPieceValues / unit, 1) * unit;
}

void VectorEngine::RunRow(int64_t row, Scratch& scratch, uint8_t* memory) const {
  const int64_t length = program_->length;
  const int64_t whole_words = WordsPiece();
  scratch.scalars.fill(0);
  for (const Pass& pass : program_->passes) {
    size_t tree = 1;
    while (tree < static_cast<size_t>(lanes_)) tree *= 2;
    scratch.partials.assign(tree + kFloatSlack, NeutralOf(*numbers_, pass.reduce));
    for (int64_t first = 0; first < length; first += whole_words) {
      const Piece piece{row, 1, first, std::min(whole_words, length - first)};
      RunPass(pass, piece, nullptr, 0, scratch, memory);
      const float* values = scratch.values.data();
      if (pass.reduce != Reduce::kNone) {
        for (int64_t n = 0; n < piece.columns; n += lanes_) {
          const int64_t count = std::min<int64_t>(lanes_, piece.columns - n);
          kernels_->join(pass.reduce == Reduce::kMax, scratch.partials.data(), values + n, count);
          numbers_->Round(scratch.partials.data(), count);
        }
      }
      if (pass.to_row_buffer) std::copy_n(values, piece.columns, scratch.row_buffer.data() + first);
      if (pass.to_memory) StoreStream(piece, scratch, memory);
    }
    if (pass.reduce == Reduce::kNone) continue;
    float scalar =
        ReduceTree(*numbers_, pass.reduce, std::span<float>(scratch.partials.data(), tree));
    for (const Stage& stage : pass.scalar_stages) {
      const auto value_of = [&](Argument a, float immediate) {
        return a >= Argument::kScalar0 && a <= Argument::kScalar3
                   ? scratch
                         .scalars[static_cast<size_t>(a) - static_cast<size_t>(Argument::kScalar0)]
                   : immediate;
      };
      scalar = ApplyStage(*numbers_, stage, scalar, value_of(stage.a, stage.immediate_a),
                          value_of(stage.b, stage.immediate_b));
    }
    scratch.scalars[pass.into] = scalar;
  }
}

void VectorEngine::Run(int64_t first, int64_t count, const AccumulatorRows* accumulators,
                       uint8_t* memory) const {
  const int64_t length = program_->length;
  if (program_->passes.size() > 1) {
    Scratch scratch(WordsPiece());
    const bool keeps = std::any_of(program_->passes.begin(), program_->passes.end(),
                                   [](const Pass& pass) { return pass.to_row_buffer; });
    if (keeps) scratch.row_buffer.resize(static_cast<size_t>(length));
    for (int64_t row = first; row < first + count; ++row) RunRow(row, scratch, memory);
    return;
  }
  // With one pass no value is kept, so a piece may hold several rows or a part of one.
  Scratch scratch(piece_);
  const Pass& pass = program_->passes[0];
  const int64_t rows = std::max<int64_t>(piece_ / length, 1);
  const int64_t columns = std::min(length, piece_);
  for (int64_t row = 0; row < count; row += rows) {
    for (int64_t column = 0; column < length; column += columns) {
      const Piece piece{first + row, std::min(rows, count - row), column,
                        std::min(columns, length - column)};
      RunPass(pass, piece, accumulators, row, scratch, memory);
      StoreStream(piece, scratch, memory);
    }
  }
}

}  // namespace kiln::systolic

// Compares kiln_instruction_decoder with the C++ instruction: every member of every section, for
// random instructions of all kinds and formats, and the instructions that it rejects.
#include <array>
#include <bit>
#include <optional>
#include <string>

#include "Vinstruction_decoder.h"
#include "Vinstruction_decoder_netlist.h"
#include "kiln/targets/systolic/isa/isa.h"
#include "kiln/targets/systolic/isa/isa_derived.h"
#include "tests/rtl/support.h"
#include "tests/rtl/systolic/commands.h"
#include "tests/targets/systolic/fp32_machine.h"
#include "tests/targets/systolic/random_instruction.h"

namespace kiln::rtl {
namespace {

using systolic::BlockScales;
using systolic::Config;
using systolic::Convolution;
using systolic::Derived;
using systolic::ImageSteps;
using systolic::Instruction;
using systolic::Opcode;
using systolic::OperandScales;
using systolic::Pass;
using systolic::Stage;
using systolic::Stream;
using systolic::StreamSteps;
using systolic::Tiling;
using systolic::VectorProgram;
using systolic::Window;

constexpr size_t kWordBytes = 16;

// kiln_control_pkg::error_t
enum Error { kNone, kOpcode, kOrder, kLength, kCount, kAddress, kEnumerator };

// A member as the bench shows it, signed ones extended; no value: the instruction has no such
// section and the hardware may have anything.
struct Member {
  std::string name;
  std::optional<int64_t> value;
};

int64_t Count(int64_t value) { return value & 0xffffff; }
int64_t Stride(int64_t value) {
  return static_cast<int64_t>(static_cast<uint64_t>(value) << 24) >> 24;
}
int64_t FloatBits(float value) { return std::bit_cast<uint32_t>(value); }

// The members of all sections in the order of instruction_decoder_bench.sv.
class MemberList {
 public:
  MemberList(const Instruction& instruction, const Config& config, size_t words)
      : in_(instruction),
        c_(instruction.convolution),
        v_(instruction.vector),
        d_(DeriveMembers(instruction, config)) {
    Header(words);
    present_ = instruction.opcode == Opcode::kMatrix || instruction.opcode == Opcode::kDepthwise;
    TilingAndReduction();
    Region();
    Image();
    Scales("input_scales", c_.input_scales, d_.input_scales);
    Weights();
    present_ = instruction.opcode != Opcode::kEnd;
    Loops();
    if (present_) Cleared();
    WindowMembers();
    StreamMembers();
    ScaleMembers();
    Passes();
    members_.push_back({"header.precision", in_.precision});
  }
  const std::vector<Member>& members() const { return members_; }

 private:
  void Add(const char* name, int64_t value) {
    const std::string full = section_ + "." + name;
    if (zero_) {
      members_.push_back({full, 0});
    } else if (present_) {
      members_.push_back({full, value});
    } else {
      members_.push_back({full, std::nullopt});
    }
  }
  void Section(const char* name) { section_ = name; }
  // From here on sections that the instruction has not are 0.
  void Cleared() { clears_ = true; }
  void Present(bool present) {
    zero_ = !present && clears_;
    present_ = present;
  }

  void Header(size_t words) {
    Section("header");
    const bool end = in_.opcode == Opcode::kEnd;
    Add("opcode", static_cast<int64_t>(in_.opcode));
    Add("wait_distance", in_.wait_distance);
    Add("window", !end && v_.window.combine != systolic::Combine::kNone);
    Add("input_blocks", c_.input_scales.present);
    Add("weight_blocks", c_.weight_scales.present);
    int64_t operand_blocks = 0;
    for (size_t i = 0; i < v_.operands.size(); ++i)
      operand_blocks |= int64_t{v_.operands[i].blocks.present} << i;
    Add("operand_blocks", operand_blocks);
    Add("output_blocks", v_.output.blocks.present);
    Add("operands", std::ssize(v_.operands));
    Add("passes", std::ssize(v_.passes));
    Add("length", static_cast<int64_t>(words));
    Add("user unit and kernel", int64_t{in_.user_unit} << 32 | in_.kernel);
  }

  void TilingAndReduction() {
    const Tiling& t = in_.tiling;
    const systolic::Geometry& g = d_.geometry;
    Section("tiling");
    zero_ = !present_;
    Add("batch", c_.batch);
    Add("tiles_y", g.tiles_y);
    Add("tiles_x", g.tiles_x);
    Add("blocks", g.blocks);
    Add("order", static_cast<int64_t>(t.order));
    Add("packing", static_cast<int64_t>(t.packing));
    Add("inputs_resident", g.inputs_resident);
    Add("weights_resident", g.weights_resident);
    Add("parameters_by_batch", d_.parameters_by_batch);
    Add("tile_height", t.tile_height);
    Add("tile_width", t.tile_width);
    Add("last_tile_height", d_.last_tile_height);
    Add("last_tile_width", d_.last_tile_width);
    Add("columns_per_block", t.columns_per_block);
    Add("last_block_columns", d_.last_block_columns);
    Add("last_tile_columns", d_.last_tile_columns);
    Add("tile_pixels", d_.tile_pixels);
    Add("visits", d_.visits & 0xffff);
    zero_ = false;
    Section("reduction");
    Add("groups_per_bank", t.groups_per_bank);
    Add("groups", g.groups);
    Add("fills", d_.fills);
    Add("last_fill_groups", d_.last_fill_groups);
    Add("last_group_rows", d_.last_group_rows);
    Add("weight_tiles_per_bank", t.weight_tiles_per_bank);
    Add("kernel_y", c_.kernel_y);
    Add("kernel_x", c_.kernel_x);
    Add("rows_per_group", g.rows_per_group);
  }

  void Region() {
    Section("region");
    Add("places_y", d_.places_y);
    Add("places_x", d_.places_x);
    Add("last_places_y", d_.last_places_y);
    Add("last_places_x", d_.last_places_x);
    Add("compact_y", d_.compact_y);
    Add("compact_x", d_.compact_x);
    Add("row_pitch", Count(d_.row_pitch));
    Add("group_pitch", Count(d_.group_pitch));
    Add("output_row_step", Count(d_.output_row_step));
    Add("output_column_step", Count(d_.output_column_step));
    Add("tap_row_step", Count(d_.tap_row_step));
    Add("tap_column_step", Count(d_.tap_column_step));
    Add("tap_steps", d_.tap_steps);
  }

  void Image() {
    const ImageSteps& s = d_.input;
    Section("image");
    Add("base", static_cast<int64_t>(c_.input_base));
    Add("batch_stride", Stride(c_.input_batch_stride));
    Add("pad_code", static_cast<uint32_t>(c_.pad_code));
    Add("row_stride", Stride(c_.input_row_stride));
    Add("column_stride", Stride(c_.input_column_stride));
    Add("run_entries", d_.run_entries);
    Add("row_origin", Stride(s.row_origin));
    Add("column_origin", Stride(s.column_origin));
    Add("tile_rows", d_.tile_rows);
    Add("tile_row_stride", Stride(s.tile_row_stride));
    Add("tile_column_stride", Stride(s.tile_column_stride));
    Add("tile_columns", d_.tile_columns);
    Add("output_row_stride", Stride(s.output_row_stride));
    Add("output_column_stride", Stride(s.output_column_stride));
    Add("height", c_.height);
    Add("tap_row_stride", Stride(s.tap_row_stride));
    Add("tap_column_stride", Stride(s.tap_column_stride));
    Add("width", c_.width);
    Add("row_bytes", d_.row_bytes);
    Add("channels", c_.channels);
    Add("pad_top", c_.pad_top);
    Add("pad_left", c_.pad_left);
    Add("stride_y", c_.stride_y);
    Add("stride_x", c_.stride_x);
    Add("dilation_y", c_.dilation_y);
    Add("dilation_x", c_.dilation_x);
    Add("joined", d_.joined);
  }

  void Scales(const char* name, const OperandScales& o, const ImageSteps& s) {
    const bool convolution = present_;
    Section(name);
    Present(convolution && o.present);
    Add("base", static_cast<int64_t>(o.base));
    Add("batch_stride", Stride(o.batch_stride));
    Add("row_stride", Stride(o.row_stride));
    Add("column_stride", Stride(o.column_stride));
    Add("row_origin", Stride(s.row_origin));
    Add("column_origin", Stride(s.column_origin));
    Add("tile_row_stride", Stride(s.tile_row_stride));
    Add("tile_column_stride", Stride(s.tile_column_stride));
    Add("output_row_stride", Stride(s.output_row_stride));
    Add("output_column_stride", Stride(s.output_column_stride));
    Add("tap_row_stride", Stride(s.tap_row_stride));
    Add("tap_column_stride", Stride(s.tap_column_stride));
    Present(convolution);
  }

  void Weights() {
    Section("weights");
    Add("base", static_cast<int64_t>(c_.weight_base));
    Add("batch_stride", Stride(c_.weight_batch_stride));
    Add("layout", static_cast<int64_t>(c_.weight_layout));
    Add("by_columns", d_.by_columns);
    Add("code_bits", c_.weight_bits);
    Add("row_stride", Stride(c_.weight_row_stride));
    Add("column_stride", Stride(c_.weight_column_stride));
    Add("group_stride", Stride(d_.weights.group_stride));
    Add("column_tile_stride", Stride(d_.weights.column_tile_stride));
    const bool convolution = present_;
    const OperandScales& o = c_.weight_scales;
    Section("weight_scales");
    Present(convolution && o.present);
    Add("base", static_cast<int64_t>(o.base));
    Add("batch_stride", Stride(o.batch_stride));
    Add("row_stride", Stride(o.row_stride));
    Add("column_stride", Stride(o.column_stride));
    Add("group_stride", Stride(d_.weight_scales.group_stride));
    Add("column_tile_stride", Stride(d_.weight_scales.column_tile_stride));
    Present(convolution);
    Section("parameters");
    Add("base", static_cast<int64_t>(c_.parameters.base));
    Add("batch_stride", Stride(c_.parameter_batch_stride));
    Add("out_channels", c_.out_channels);
  }

  void Loops() {
    Section("loops");
    for (const int32_t count : v_.outer) Add("outer", count);
    Add("length", v_.length);
    Add("words", d_.words);
    Add("last_lanes", d_.last_lanes);
    Add("rows_in_flight", d_.rows_in_flight);
    Add("depth", d_.depth);
    Add("reads_memory", d_.reads_memory);
  }

  void WindowMembers() {
    const Window& w = v_.window;
    const ImageSteps& s = d_.window;
    Section("window");
    Present(w.combine != systolic::Combine::kNone);
    Add("window_y", w.window_y);
    Add("window_x", w.window_x);
    Add("stride_y", w.stride_y);
    Add("stride_x", w.stride_x);
    Add("combine", static_cast<int64_t>(w.combine));
    Add("average", w.average);
    Add("divide_by_valid", w.divide_by_valid);
    Add("dilation_y", w.dilation_y);
    Add("dilation_x", w.dilation_x);
    Add("pad_top", w.pad_top);
    Add("pad_left", w.pad_left);
    Add("height", w.height);
    Add("width", w.width);
    Add("factor", FloatBits(d_.window_factor));
    // No unit reads these two, as for the scales below.
    Add("row_stride", 0);
    Add("column_stride", 0);
    WindowSteps(s);
  }
  void WindowSteps(const ImageSteps& s) {
    Add("row_origin", Stride(s.row_origin));
    Add("column_origin", Stride(s.column_origin));
    Add("output_row_stride", Stride(s.output_row_stride));
    Add("output_column_stride", Stride(s.output_column_stride));
    Add("tap_row_stride", Stride(s.tap_row_stride));
    Add("tap_column_stride", Stride(s.tap_column_stride));
  }

  static constexpr const char* kStreams[] = {"operand0", "operand1", "operand2", "target"};
  static constexpr const char* kScales[] = {"operand0_scales", "operand1_scales", "operand2_scales",
                                            "target_scales"};
  static constexpr size_t kOutput = 3;

  bool Has(size_t stream) const { return stream == kOutput || stream < v_.operands.size(); }
  const Stream& StreamOf(size_t stream) const {
    static const Stream kAbsent;
    return !Has(stream) ? kAbsent : stream == kOutput ? v_.output : v_.operands[stream];
  }
  const StreamSteps& StepsOf(size_t stream) const {
    return stream == kOutput ? d_.output : d_.operands[stream];
  }

  void StreamMembers() {
    for (size_t i = 0; i <= kOutput; ++i) {
      const Stream& s = StreamOf(i);
      const bool output = i == kOutput;
      Section(kStreams[i]);
      Present(in_.opcode != Opcode::kEnd && Has(i));
      Add("base", static_cast<int64_t>(s.base));
      Add("element_stride", Stride(s.element_stride));
      Add("element", static_cast<int64_t>(s.element));
      Add("access", static_cast<int64_t>(StepsOf(i).access));
      Add("outer_stride0", Stride(s.outer_stride[0]));
      Add("outer_stride1", Stride(s.outer_stride[1]));
      Add("scale", FloatBits(output ? v_.quantise.inverse_scale : s.scale));
      Add("outer_stride2", Stride(s.outer_stride[2]));
      Add("outer_stride3", Stride(s.outer_stride[3]));
      Add("zero_point", output ? v_.quantise.zero_point : s.zero_point);
      Add("word_stride", Stride(StepsOf(i).word_stride));
      Add("low", output ? v_.quantise.low : 0);
      Add("high", output ? v_.quantise.high : 0);
    }
  }

  void ScaleMembers() {
    clears_ = false;
    for (size_t i = 0; i <= kOutput; ++i) {
      const BlockScales& b = StreamOf(i).blocks;
      Section(kScales[i]);
      Present(in_.opcode != Opcode::kEnd && b.present);
      Add("base", static_cast<int64_t>(b.base));
      for (const int64_t stride : b.outer_stride) Add("outer_stride", Stride(stride));
      Add("row_stride", 0);
      Add("column_stride", 0);
      WindowSteps(StepsOf(i).scales);
    }
  }

  void Passes() {
    clears_ = true;
    for (size_t p = 0; p < systolic::kMaxPasses; ++p) {
      static const Pass kAbsent;
      const Pass& pass = p < v_.passes.size() ? v_.passes[p] : kAbsent;
      section_ = "pass" + std::to_string(p);
      Present(in_.opcode != Opcode::kEnd && p < v_.passes.size());
      Add("source", static_cast<int64_t>(pass.source));
      Add("reduce", static_cast<int64_t>(pass.reduce));
      Add("into", pass.into);
      Add("to_row_buffer", pass.to_row_buffer);
      Add("to_memory", pass.to_memory);
      Add("reads", d_.passes[p].reads);
      Add("stages", std::ssize(pass.stages));
      Add("scalar_stages", std::ssize(pass.scalar_stages));
      Add("gap", d_.passes[p].gap);
      Add("value", FloatBits(pass.constant));
    }
  }

  const Instruction& in_;
  const Convolution& c_;
  const VectorProgram& v_;
  const Derived d_;
  std::vector<Member> members_;
  std::string section_;
  bool present_ = true, clears_ = false, zero_ = false;
};

template <typename Model>
class Decoder {
 public:
  explicit Decoder(uint64_t seed, double stall = 0)
      : bench_(seed), stalls_(seed, stall), noise_(seed) {
    bench_->clear = bench_->next = bench_->word_valid = 0;
    bench_.Reset();
  }

  // Hands over words until one is refused or the instruction is complete. Calls `at_stage` in a
  // cycle in which a stage leaves. Returns how many words were taken.
  template <typename AtStage>
  size_t Feed(const std::vector<uint8_t>& bytes, AtStage at_stage) {
    size_t at = 0;
    while (true) {
      const bool offered = at < bytes.size() && !stalls_.Next();
      bench_->word_valid = offered;
      std::vector<uint8_t> word(kWordBytes);
      for (uint8_t& byte : word) byte = static_cast<uint8_t>(noise_());
      if (offered)
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), kWordBytes, word.begin());
      SetBytes(bench_->word, word);
      bench_.Settle();
      if (!bench_->word_ready || at == bytes.size()) break;
      EXPECT_EQ(bench_->stage_valid, offered && word[15] == kStageTag);
      if (offered && bench_->stage_valid) at_stage();
      bench_.Step();
      if (offered) at += kWordBytes;
    }
    bench_->word_valid = 0;
    bench_.Settle();
    return at / kWordBytes;
  }
  size_t Feed(const std::vector<uint8_t>& bytes) {
    return Feed(bytes, [] {});
  }

  int64_t MemberAt(size_t number) {
    bench_->member = static_cast<uint16_t>(number);
    bench_.Settle();
    return static_cast<int64_t>(bench_->value);
  }
  uint64_t StageMember(int number) {
    bench_->stage_member = static_cast<uint8_t>(number);
    bench_.Settle();
    return bench_->stage_value;
  }
  void Next() {
    bench_->next = 1;
    bench_.Settle();
    bench_.Step();
    bench_->next = 0;
    bench_.Settle();
  }
  void Clear() {
    bench_->clear = 1;
    bench_.Settle();
    bench_.Step();
    bench_->clear = 0;
    bench_.Settle();
  }
  Model& bench() { return *bench_; }

 private:
  static constexpr uint8_t kStageTag = 14;
  Simulation<Model> bench_;
  Stalls stalls_;
  Random noise_;
};

Config AnyConfig(Random& random) {
  Config config = systolic::RandomConfig(random);
  config.depthwise_multipliers = std::max(config.depthwise_multipliers, 1);
  systolic::RandomFormats(random, &config);
  while (config.precisions() > 3) config.other_precisions.pop_back();
  config.vector_function_stages = 0xdfa;  // as in instruction_decoder_bench.sv
  config.vector_divide_stages = 0xff4;
  return config;
}

template <typename Model>
void ExpectStage(Decoder<Model>& decoder, const Stage& stage) {
  EXPECT_EQ(decoder.StageMember(0), static_cast<uint64_t>(stage.op));
  EXPECT_EQ(decoder.StageMember(1), static_cast<uint64_t>(stage.a));
  EXPECT_EQ(decoder.StageMember(2), static_cast<uint64_t>(stage.b));
  EXPECT_EQ(decoder.StageMember(3), static_cast<uint64_t>(stage.function));
  EXPECT_EQ(decoder.StageMember(4), std::bit_cast<uint32_t>(stage.immediate_a));
  EXPECT_EQ(decoder.StageMember(5), std::bit_cast<uint32_t>(stage.immediate_b));
}

template <typename Model>
void SeesWhatTheInstructionSays(int rounds) {
  Random random(1);
  Decoder<Model> decoder(1, 0.2);
  std::array<int, 4> kinds{};
  for (int round = 0; round < rounds && !testing::Test::HasFailure(); ++round) {
    const Config config = AnyConfig(random);
    const auto opcode = static_cast<Opcode>(random.Below(4));
    Instruction instruction;
    if (opcode != Opcode::kEnd)
      instruction = systolic::RandomInstruction(random, config, opcode).instruction;
    instruction.kernel = static_cast<uint32_t>(random());
    ++kinds[static_cast<size_t>(opcode)];
    const std::vector<uint8_t> bytes = systolic::Encode(instruction, config);

    // Stages in the order of their words.
    struct Place {
      int pass, scalar, number;
      const Stage* stage;
    };
    std::vector<Place> stages;
    for (int p = 0; p < static_cast<int>(instruction.vector.passes.size()); ++p) {
      const Pass& pass = instruction.vector.passes[static_cast<size_t>(p)];
      int number = 0;
      for (const Stage& stage : pass.stages) stages.push_back({p, 0, number++, &stage});
      number = 0;
      for (const Stage& stage : pass.scalar_stages) stages.push_back({p, 1, number++, &stage});
    }
    size_t seen = 0;
    ASSERT_TRUE(decoder.bench().begins);
    const size_t words = decoder.Feed(bytes, [&] {
      ASSERT_LT(seen, stages.size());
      const Place& place = stages[seen++];
      EXPECT_EQ(decoder.bench().stage_pass, place.pass);
      EXPECT_EQ(decoder.bench().stage_scalar, place.scalar);
      EXPECT_EQ(decoder.bench().stage_number, place.number);
      ExpectStage(decoder, *place.stage);
    });
    ASSERT_EQ(words, bytes.size() / kWordBytes);
    ASSERT_FALSE(decoder.bench().error)
        << int{decoder.bench().error_code} << " at word " << decoder.bench().place;
    ASSERT_TRUE(decoder.bench().complete);
    EXPECT_EQ(seen, stages.size());
    EXPECT_EQ(decoder.bench().matrix, opcode == Opcode::kMatrix);
    EXPECT_EQ(decoder.bench().depthwise, opcode == Opcode::kDepthwise);
    EXPECT_EQ(decoder.bench().is_end, opcode == Opcode::kEnd);

    const MemberList expected(instruction, config, words);
    ASSERT_EQ(expected.members().size(), 285u);
    for (size_t i = 0; i < expected.members().size(); ++i) {
      const Member& member = expected.members()[i];
      if (member.value.has_value()) {
        EXPECT_EQ(decoder.MemberAt(i), *member.value) << member.name;
      }
    }
    decoder.Next();
    EXPECT_FALSE(decoder.bench().complete);
  }
  for (const int count : kinds) EXPECT_GT(count, rounds / 12);
}

TEST(InstructionDecoder, SeesWhatTheInstructionSays) {
  SeesWhatTheInstructionSays<Vinstruction_decoder>(600);
  SeesWhatTheInstructionSays<Vinstruction_decoder_netlist>(100);
}

// A 1x1 convolution of 8x8x16 to 32 channels on 8x8, with one stage and one operand.
Instruction SmallMatrix() {
  Instruction i;
  i.opcode = Opcode::kMatrix;
  Convolution& c = i.convolution;
  c.height = c.width = c.out_height = c.out_width = 8;
  c.channels = 16;
  c.out_channels = 32;
  c.input_row_stride = 128;
  c.input_column_stride = 16;
  i.tiling.tile_height = i.tiling.tile_width = 8;
  VectorProgram& v = i.vector;
  v.outer = {1, 8, 8, 1};
  v.length = 32;
  v.output.element_stride = 1;
  v.operands.resize(1);
  Pass pass;
  pass.source = systolic::Source::kAccumulator;
  pass.stages.resize(1);
  pass.stages[0].a = systolic::Argument::kOperand0;
  pass.to_memory = true;
  v.passes = {pass};
  return i;
}

Config SmallConfig() {
  Config config = systolic::Fp32Machine();
  config.array_rows = config.array_columns = 8;
  return config;
}

// The instruction's words with bits [high:low] of one word set to `value`.
std::vector<uint8_t> With(size_t word, int high, int low, uint64_t value) {
  std::vector<uint8_t> bytes = systolic::Encode(SmallMatrix(), SmallConfig());
  for (int bit = low; bit <= high; ++bit) {
    uint8_t& byte = bytes[kWordBytes * word + static_cast<size_t>(bit / 8)];
    const auto mask = static_cast<uint8_t>(1u << bit % 8);
    byte = static_cast<uint8_t>((value >> (bit - low) & 1) != 0 ? byte | mask : byte & ~mask);
  }
  return bytes;
}

TEST(InstructionDecoder, RefusesWhatUnitsWouldStumbleOver) {
  Decoder<Vinstruction_decoder> decoder(2);
  // Words of SmallMatrix: header 0, tiling 1 to 3, reduction 4, 5, region 6 to 8, input 9 to 16,
  // weights 17 to 19, parameters 20, vector 21, 22, operand 23 to 26, pass 27, stage 28, output 29
  // to 32.
  ASSERT_EQ(systolic::Encode(SmallMatrix(), SmallConfig()).size(), 33 * kWordBytes);
  const auto refused = [&](size_t word, int high, int low, uint64_t value) {
    decoder.Clear();
    const size_t words = decoder.Feed(With(word, high, low, value));
    EXPECT_EQ(decoder.bench().error != 0, decoder.bench().complete == 0);
    EXPECT_TRUE(!decoder.bench().error || (words == word + 1u && decoder.bench().place == word));
    return decoder.bench().error ? static_cast<Error>(decoder.bench().error_code) : kNone;
  };
  EXPECT_EQ(refused(0, 31, 0, 0), kNone);
  EXPECT_EQ(refused(0, 111, 104, 4), kOpcode);
  EXPECT_EQ(refused(0, 127, 120, 1), kOrder);
  EXPECT_EQ(refused(0, 35, 35, 1), kOpcode);  // a user unit, which there is none of
  EXPECT_EQ(refused(0, 86, 84, 0),
            kCount);  // passes: bits behind opcode, distance, flag, 6 bits of blocks, operands
  EXPECT_EQ(refused(3, 119, 112, 1), kOrder);            // index
  EXPECT_EQ(refused(1, 111, 88, 0), kCount);             // batch
  EXPECT_EQ(refused(2, 63, 40, 9), kCount);              // last_tile_height > tile_height
  EXPECT_EQ(refused(3, 63, 48, 9), kCount);              // last_tile_columns > 8
  EXPECT_EQ(refused(3, 47, 24, 65), kCount);             // tile_pixels > 64
  EXPECT_EQ(refused(4, 15, 0, 0), kCount);               // last_group_rows
  EXPECT_EQ(refused(5, 111, 88, 25), kCount);            // weight_tiles_per_bank > 192 / 8
  EXPECT_EQ(refused(7, 87, 64, 257), kCount);            // group_pitch > 256
  EXPECT_EQ(refused(9, 111, 80, 1 << 30), kAddress);     // input base
  EXPECT_EQ(refused(9, 111, 80, (1 << 30) - 1), kNone);  // units' requests are checked besides
  EXPECT_EQ(refused(17, 111, 80, ~uint64_t{0}), kAddress);
  EXPECT_EQ(refused(20, 111, 80, 1 << 30), kAddress);
  EXPECT_EQ(refused(21, 87, 64, 0), kCount);           // outer1
  EXPECT_EQ(refused(22, 47, 32, 9), kCount);           // rows_in_flight
  EXPECT_EQ(refused(23, 111, 80, 1 << 30), kAddress);  // operand
  EXPECT_EQ(refused(23, 43, 42, 3), kEnumerator);      // access
  EXPECT_EQ(refused(23, 47, 44, 11), kNone);           // codes of precision 2's weights
  EXPECT_EQ(refused(23, 47, 44, 12), kEnumerator);     // of precision 3's inputs
  EXPECT_EQ(refused(0, 34, 33, 2), kNone);             // precision
  EXPECT_EQ(refused(0, 34, 33, 3), kEnumerator);
  EXPECT_EQ(refused(27, 111, 110, 1), kEnumerator);    // a matrix instruction that reads operand 0
  EXPECT_EQ(refused(27, 109, 108, 3), kEnumerator);    // reduce
  EXPECT_EQ(refused(27, 100, 97, 13), kCount);         // stages
  EXPECT_EQ(refused(28, 111, 108, 11), kOpcode);       // a function in stage 0, which has none
  EXPECT_EQ(refused(28, 111, 108, 15), kOpcode);       // a division
  EXPECT_EQ(refused(28, 111, 108, 14), kNone);         // select negative
  EXPECT_EQ(refused(28, 107, 104, 11), kEnumerator);   // argument
  EXPECT_EQ(refused(28, 107, 104, 3), kEnumerator);    // operand 1 of one
  EXPECT_EQ(refused(27, 109, 108, 1), kEnumerator);    // reduces accumulators
  EXPECT_EQ(refused(27, 105, 105, 1), kEnumerator);    // keeps them
  EXPECT_EQ(refused(0, 95, 95, 1), kEnumerator);       // a window on them
  EXPECT_EQ(refused(29, 111, 80, 1 << 30), kAddress);  // output
  // A length that is too large is known at the last word, one that is too small at its own.
  EXPECT_EQ(refused(0, 83, 68, 33), kNone);
  decoder.Clear();
  EXPECT_EQ(decoder.Feed(With(0, 83, 68, 34)), 33u);
  EXPECT_EQ(decoder.bench().error_code, kLength);
  decoder.Clear();
  EXPECT_EQ(decoder.Feed(With(0, 83, 68, 20)), 20u);
  EXPECT_EQ(decoder.bench().error_code, kLength);
}

// Whatever comes, the decoder takes no more words than the longest instruction has before it is
// complete or says why not.
TEST(InstructionDecoder, EndsOnAnyWords) {
  Random random(3);
  Decoder<Vinstruction_decoder> decoder(3);
  int complete = 0, refused = 0;
  for (int round = 0; round < 2000; ++round) {
    const Config config = AnyConfig(random);
    const auto opcode = static_cast<Opcode>(1 + random.Below(3));
    std::vector<uint8_t> bytes =
        systolic::Encode(systolic::RandomInstruction(random, config, opcode).instruction, config);
    for (uint64_t flips = 1 + random.Below(3); flips > 0; --flips) {
      bytes[random.Below(bytes.size())] ^= static_cast<uint8_t>(1u << random.Below(8));
    }
    bytes.resize(bytes.size() + 300 * kWordBytes, 0);
    decoder.Clear();
    EXPECT_LT(decoder.Feed(bytes), 300u);
    ASSERT_NE(decoder.bench().complete != 0, decoder.bench().error != 0);
    ++(decoder.bench().complete ? complete : refused);
  }
  EXPECT_GT(complete, 100);
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace kiln::rtl

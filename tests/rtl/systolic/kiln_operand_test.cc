// Tests kiln_operand_fetch and kiln_operand_buffer on their own, on the words of random
// instructions. The fetch's requests, slots and times are compared cycle by cycle with the
// definition of a slot (operand_requests.h), with ports that stall at random; the buffer's numbers
// are compared with LoadValue and Join, with words and scales that arrive at random.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "Voperand_2x8.h"
#include "Voperand_3.h"
#include "Voperand_4x2.h"
#include "Voperand_short.h"
#include "kiln/support/random.h"
#include "kiln/targets/systolic/simulate/arithmetic.h"
#include "tests/rtl/support.h"
#include "tests/rtl/systolic/operand_requests.h"
#include "tests/rtl/systolic/vector_command.h"
#include "tests/rtl/systolic/word_list.h"
#include "tests/targets/systolic/fp32_machine.h"
#include "tests/targets/systolic/random_instruction.h"

namespace kiln::rtl {
namespace {

using systolic::Config;
using systolic::Instruction;
using systolic::Numbers;
using systolic::Opcode;
using systolic::RandomCase;

constexpr size_t kWords = 5;  // of the buffer

Config UnitConfig(int lanes, int block_size) {
  Config c = systolic::Fp32Machine();
  c.name = "operands";
  c.array_rows = block_size == 0 ? lanes : 2;
  c.array_columns = lanes;
  c.vector_stages = 3;
  c.vector_stage_latency = 1;
  c.vector_row_buffer_words = 16;
  c.vector_rows_in_flight = 3;
  c.accumulation_buffer_words = 32;
  c.operand_buffer_words = 64;
  c.operand_port_bytes = c.output_port_bytes = 8;
  c.memory_latency = 9;
  c.memory_bytes = 1 << 20;
  c.block_size = block_size;
  return c;
}

// Two precisions behind a vector unit in bf16.
struct Design3 {
  using Model = Voperand_3;
  static constexpr int kNumber = 16;     // bits of a number
  static constexpr size_t kConvert = 1;  // registers of the conversion
  static Config config() {
    Config c = UnitConfig(3, 0);
    c.vector_format = *FindFormat("bf16");
    c.other_precisions.push_back({*FindFormat("e4m3"), *FindFormat("posit8_1")});
    c.psum_format = c.accumulation_format = *FindFormat("fp32");
    return c;
  }
};
// A block of four words.
struct Design2x8 {
  using Model = Voperand_2x8;
  static constexpr int kNumber = 32;
  static constexpr size_t kConvert = 0;
  static Config config() {
    Config c = UnitConfig(2, 8);
    c.input_format = *FindFormat("fixed8_6");
    c.weight_format = *FindFormat("e4m3");
    SetDefaultSums(&c);
    return c;
  }
};
// A short float behind the longest pipeline.
struct DesignShort {
  using Model = Voperand_short;
  static constexpr int kNumber = 16;
  static constexpr size_t kConvert = 5;
  static Config config() {
    Config c = UnitConfig(4, 0);
    c.vector_format = *FindFormat("bf16.flush");
    return c;
  }
};
// Two blocks in a word, scales of two bytes.
struct Design4x2 {
  using Model = Voperand_4x2;
  static constexpr int kNumber = 19;
  static constexpr size_t kConvert = 3;
  static Config config() {
    Config c = UnitConfig(4, 2);
    c.vector_format = *FindFormat("fp16");
    c.input_format = *FindFormat("e5m2");
    c.weight_format = *FindFormat("e4m3");
    c.scale_format = *FindFormat("fp16");
    SetDefaultSums(&c);
    return c;
  }
};

// An instruction that the design point accepts; half of the windows then get padding and dilation
// that random instructions seldom have, up to windows without a place in the image. (Nobody reads
// the memory here.)
Instruction RandomProgram(Random& random, const Config& config) {
  RandomCase c;
  do {
    c = RandomInstruction(random, config, random.Below(4) == 0 ? Opcode::kMatrix : Opcode::kVector);
  } while (!CheckInstruction(c.instruction, config).ok());
  systolic::Window& w = c.instruction.vector.window;
  if (w.combine != systolic::Combine::kNone && random.Below(2) == 0) {
    const auto between = [&](int64_t low, int64_t high) {
      return static_cast<int32_t>(random.Between(low, high));
    };
    w.dilation_y = between(1, 4);
    w.dilation_x = between(1, 4);
    w.pad_top = between(0, (w.window_y - 1) * w.dilation_y);
    w.pad_left = between(0, (w.window_x - 1) * w.dilation_x);
    const auto& outer = c.instruction.vector.outer;
    w.height = std::max(between(1, 5), (outer[1] - 1) * w.stride_y - w.pad_top + 1);
    w.width = std::max(between(1, 5), (outer[2] - 1) * w.stride_x - w.pad_left + 1);
  }
  return c.instruction;
}

std::vector<uint8_t> ScaleTag(size_t block, bool last) {
  BitString tag;
  tag.Append(8, block);
  tag.Append(1, last);
  return tag.Bytes();
}

template <typename Model>
void Idle(Simulation<Model>& bench) {
  bench->fetch_working = bench->fetch_room = 0;
  bench->request_ready = bench->scale_request_ready = 0;
  bench->buffer_valid = bench->scale_valid = bench->buffer_nothing = 0;
}

// ---- Fetch

template <typename Design>
class FetchBench {
 public:
  FetchBench(uint64_t seed, double stall)
      : config_(Design::config()),
        random_(seed),
        bench_(seed),
        words_(seed + 1, stall),
        rooms_(seed + 2, stall),
        requests_(seed + 3, stall),
        scales_(seed + 4, stall, Stalls::Kind::kBursts) {
    Idle(bench_);
    bench_.Reset();
  }

  int windows = 0, nothings = 0, searches = 0, scaled = 0, stalled = 0;

  void RunInstruction(int number) {
    const Instruction in = RandomProgram(random_, config_);
    SCOPED_TRACE("instruction " + std::to_string(number));
    const VectorCommand command = MakeVectorCommand(in, config_, number, 0);
    SetBytes(bench_->command, command.command);
    SetBytes(bench_->command_scales, command.scales);
    const OperandReads reads(in, config_);
    const WordList list(in, config_);
    for (const ListedWord& word : list.words()) {
      RunWord(in, word, reads.Of(word));
      if (testing::Test::HasFailure()) {
        ADD_FAILURE() << Print(in, config_);
        return;
      }
    }
    windows += in.vector.window.combine != systolic::Combine::kNone ? 1 : 0;
  }

 private:
  void Show(const Instruction& in, const ListedWord& word) {
    uint32_t mask = 0;
    for (size_t i = 0; i < in.vector.operands.size(); ++i) {
      mask |= systolic::PassReads(in.vector, word.pass, i) ? 1u << i : 0;
    }
    bench_->fetch_reads = static_cast<uint8_t>(mask);
    bench_->fetch_to_memory = in.vector.passes[word.pass].to_memory;
    bench_->fetch_gap = static_cast<uint16_t>(word.gap);
    bench_->fetch_lanes = static_cast<uint8_t>(word.lanes);
    bench_->operand0_address = word.address[0];
    bench_->operand1_address = word.address[1];
    bench_->operand2_address = word.address[2];
    bench_->target_address = word.address[3];
    bench_->window_y = static_cast<uint32_t>(word.window_y);
    bench_->window_x = static_cast<uint32_t>(word.window_x);
    bench_->window_row_offset = word.window_row;
    bench_->window_column_offset = word.window_column;
    bench_->operand0_scale_address = word.scale[0];
    bench_->operand1_scale_address = word.scale[1];
    bench_->operand2_scale_address = word.scale[2];
    bench_->window_scale_row_offset = word.window_scale_row;
    bench_->window_scale_column_offset = word.window_scale_column;
  }

  // A word from its coming to the end of its slot.
  void RunWord(const Instruction& in, const ListedWord& word, const WordReads& reads) {
    Show(in, word);
    const systolic::Stream& output = in.vector.output;
    const int64_t written =
        in.vector.passes[word.pass].to_memory
            ? systolic::StreamBeats(output, config_, word.address[3], word.lanes, 8)
            : 0;
    nothings += reads.nothing ? 1 : 0;
    searches += reads.search > 0 ? 1 : 0;

    bool begun = false;
    uint64_t place = 0;
    int64_t cycles = 0;                        // of the slot, this one included
    int64_t search = reads.search, beats = 0;  // still to go; beats of the last request
    bool nothing = reads.nothing;              // to be said
    size_t next = 0, next_scale = 0;           // request; scale of it, or of the last request
    const OperandRequest* scaling = nullptr;   // the last request, while it has scales to come
    std::optional<int64_t> gap;                // left, once all beats are through
    for (bool ends = false; !ends;) {
      const bool there = begun || !words_.Next();
      bench_->fetch_working = there;
      bench_->fetch_room = !rooms_.Next();
      bench_->fetch_place = static_cast<uint8_t>(random_());
      bench_->request_ready = !requests_.Next();
      bench_->scale_request_ready = !scales_.Next();
      bench_.Settle();
      const bool begins = there && !begun && bench_->fetch_room != 0;
      ASSERT_EQ(bench_->slot_begin, begins);
      if (begins) {
        begun = true;
        place = bench_->fetch_place;
      }
      if (!begun) {
        ASSERT_EQ(bench_->request_valid + bench_->scale_request_valid + bench_->slot_end +
                      bench_->fetch_nothing,
                  0);
        bench_.Step();
        continue;
      }
      ++cycles;

      // What happens on the ports in this cycle.
      bool asks = false, says_nothing = false, asks_scale = false;
      const OperandRequest* request = nullptr;
      if (beats > 0 || scaling != nullptr) {
        asks_scale = scaling != nullptr;
      } else if (search > 0) {
        --search;
      } else if (nothing) {
        says_nothing = true;
        nothing = false;
      } else if (next < reads.requests.size()) {
        request = &reads.requests[next];
        asks_scale = next_scale < std::min<size_t>(1, request->scales.size());
        asks = !asks_scale || bench_->scale_request_ready != 0;
      }
      const bool busy_beat = beats > 0;
      ASSERT_EQ(bench_->request_valid, asks) << "cycle " << cycles;
      ASSERT_EQ(bench_->scale_request_valid, asks_scale) << "cycle " << cycles;
      ASSERT_EQ(bench_->fetch_nothing, says_nothing);
      if (says_nothing) {
        ASSERT_EQ(bench_->fetch_nothing_last, reads.nothing_last);
        ASSERT_EQ(bench_->fetch_nothing_place, place);
      }
      if (asks_scale) {
        const OperandRequest& of = scaling != nullptr ? *scaling : *request;
        ASSERT_EQ(bench_->scale_request_address, of.scales[next_scale]);
        ASSERT_EQ(GetBytes(bench_->scale_request_tag, 2),
                  ScaleTag(next_scale, next_scale + 1 == of.scales.size()));
        if (bench_->scale_request_ready != 0) ++next_scale;
        ++scaled;
      }
      if (busy_beat) --beats;
      if (asks) {
        ASSERT_EQ(bench_->request_address, request->address);
        ASSERT_EQ(bench_->request_bytes, request->bytes);
        ASSERT_EQ(GetBytes(bench_->request_tag, 3), request->Tag(place));
        stalled += bench_->request_ready == 0 ? 1 : 0;
      }
      if (asks && bench_->request_ready != 0) {
        beats = request->beats - 1;
        scaling = request;
        ++next;
      }
      if (scaling != nullptr && next_scale == scaling->scales.size()) {
        scaling = nullptr;
        next_scale = 0;
      }

      // Whether the slot ends with it.
      const bool through = search == 0 && !nothing && next == reads.requests.size() && beats == 0 &&
                           scaling == nullptr && cycles >= written;
      if (gap.has_value()) {
        ends = --*gap == 0;
      } else if (through) {
        gap = word.gap;
        ends = word.gap == 0;
      }
      ASSERT_EQ(bench_->slot_end, ends) << "cycle " << cycles;
      if (ends) {
        ASSERT_EQ(bench_->slot_cycles, static_cast<uint64_t>(cycles));
        if (config_.block_size > 0) {
          ASSERT_EQ(bench_->slot_beats, written);
        }
      }
      bench_.Step();
    }
    bench_->fetch_working = 0;
  }

  const Config config_;
  Random random_;
  Simulation<typename Design::Model> bench_;
  Stalls words_, rooms_, requests_, scales_;
};

template <typename Design>
void FetchAsks(uint64_t seed) {
  for (const double stall : {0.0, 0.4}) {
    FetchBench<Design> bench(seed, stall);
    for (int i = 0; i < 250 && !testing::Test::HasFailure(); ++i) bench.RunInstruction(i);
    EXPECT_GT(bench.windows, 20);
    EXPECT_GT(bench.nothings, 10);
    EXPECT_GT(bench.searches, 50);
    EXPECT_GE(bench.stalled, stall == 0 ? 0 : 1000);
    EXPECT_GE(bench.scaled, Design::config().block_size == 0 ? 0 : 1000);
  }
}
TEST(OperandFetch, AsksForWhatWordsRead) { FetchAsks<Design3>(1); }
TEST(OperandFetch, AsksForScalesOfSeveralWords) { FetchAsks<Design2x8>(2); }
TEST(OperandFetch, AsksForSeveralScalesOfAWord) { FetchAsks<Design4x2>(3); }

// ---- Buffer

// A word of the port with what it means.
struct PortWord {
  OperandRequest request;
  uint64_t place = 0;
  bool windowed = false, blocks = false;
  std::vector<uint8_t> data;  // 4 bytes a lane
  std::vector<uint32_t> scales;
};
struct PortScale {
  uint32_t code = 0;
  size_t block = 0;
  bool last = false;
};

// A place of the buffer: what the read side must show, nothing of it where nobody may look.
struct Place {
  std::array<std::vector<float>, 3> operands;
  std::optional<float> factor;
  std::optional<bool> empty;
};

template <typename Design>
class BufferBench {
 public:
  BufferBench(uint64_t seed, double stall)
      : config_(Design::config()),
        numbers_(config_),
        random_(seed),
        bench_(seed),
        words_(Stalls(seed + 1, stall)),
        scales_(Stalls(seed + 2, stall, Stalls::Kind::kBursts)) {
    Idle(bench_);
    bench_.Reset();
  }

  int compared = 0, windows = 0, averages = 0, scaled = 0, passed = 0;

  void RunInstruction(int number) {
    in_ = RandomProgram(random_, config_);
    SCOPED_TRACE("instruction " + std::to_string(number));
    const VectorCommand command = MakeVectorCommand(in_, config_, number, 0);
    SetBytes(bench_->command, command.command);
    SetBytes(bench_->command_scales, command.scales);
    const OperandReads reads(in_, config_);
    const WordList list(in_, config_);
    uint64_t words = 0;
    for (const ListedWord& word : list.words()) {
      const WordReads read = reads.Of(word);
      if (!read.nothing && read.requests.empty()) continue;
      if (++words > 40) break;
      if (read.nothing) {
        while (!words_.Empty() && !testing::Test::HasFailure()) Cycle();
        nothing_ = next_place_;
      }
      for (const OperandRequest& request : read.requests) Send(request, word, reads);
      next_place_ = (next_place_ + 1) % kWords;
      // Some words at once, so that they follow each other; no more than there are places.
      if (words % 3 == 0) Drain();
    }
    Drain();
    for (int i = 0; i < 10; ++i) Cycle();
    if (testing::Test::HasFailure()) ADD_FAILURE() << Print(in_, config_);
  }

 private:
  void Send(const OperandRequest& request, const ListedWord& word, const OperandReads& reads) {
    const systolic::Stream& stream = in_.vector.operands[request.operand];
    const int bytes = systolic::BytesOf(stream.element, config_);
    PortWord out;
    out.request = request;
    out.place = next_place_;
    out.windowed = reads.Windowed(word.pass, request.operand);
    out.blocks = stream.blocks.present;
    for (int i = 0; i < 4 * config_.lanes(); ++i)
      out.data.push_back(static_cast<uint8_t>(random_()));
    // Numbers that a sum can hold, most of the time: any bits are mostly far apart.
    for (int i = 0;
         i < config_.lanes() && !systolic::IsInteger(stream.element) && random_.Below(8) != 0;
         ++i) {
      const Format& format = systolic::FormatOf(stream.element, config_);
      const uint32_t code = EncodeFloat(format, static_cast<float>(random_.Uniform(-4, 4)));
      systolic::StoreBits(systolic::StoredBits(format, code), bytes, out.data.data() + i * bytes);
    }
    for (size_t i = 0; i < request.scales.size(); ++i) {
      const uint32_t code =
          EncodeFloat(config_.scale_format, static_cast<float>(std::exp2(random_.Uniform(-4, 4))));
      out.scales.push_back(code);
      scales_.Push({code, i, i + 1 == request.scales.size()});
    }
    lanes_.push_back(word.lanes);
    words_.Push(std::move(out));
  }

  void Drain() {
    while ((!words_.Empty() || nothing_.has_value()) && !testing::Test::HasFailure()) Cycle();
    Cycle();
  }

  void Cycle() {
    words_.Drive();
    scales_.Drive();
    const bool valid = words_.Valid(), scale_valid = scales_.Valid();
    const bool nothing = nothing_.has_value() && random_.Below(3) == 0;
    bench_->buffer_valid = valid;
    bench_->scale_valid = scale_valid;
    bench_->buffer_nothing = nothing;
    bench_->buffer_nothing_place = static_cast<uint8_t>(nothing_.value_or(0));
    if (valid) {
      SetBytes(bench_->buffer_data, words_.Item().data);
      SetBytes(bench_->buffer_tag, words_.Item().request.Tag(words_.Item().place));
    }
    if (scale_valid) {
      bench_->scale_code = static_cast<uint16_t>(scales_.Item().code);
      SetBytes(bench_->scale_tag, ScaleTag(scales_.Item().block, scales_.Item().last));
    }
    // A read shows the word from the next cycle on, until another read.
    const bool read = random_.Below(3) != 0;
    const size_t place = random_.Below(kWords);
    bench_->read = read;
    bench_->read_place = static_cast<uint8_t>(place);
    // A late read comes after the cycle in which the word is joined.
    const size_t late_place = random_.Below(kWords);
    const bool joins_late_place =
        joining_.front().has_value() && joining_.front()->place == late_place;
    const bool late_read = random_.Below(3) != 0 && !joins_late_place;
    bench_->late_read = late_read;
    bench_->late_place = static_cast<uint8_t>(late_place);
    bench_.Settle();
    CheckRead();
    if (testing::Test::HasFailure()) return;

    // A word with block scales goes with the last of them, others alone.
    const bool wants = valid && words_.Item().blocks;
    const bool last = scale_valid && scales_.Item().last;
    const bool takes = valid && (!wants || last), takes_scale = scale_valid && (!last || wants);
    if (valid) {
      ASSERT_EQ(bench_->buffer_ready, takes);
    }
    if (scale_valid) {
      ASSERT_EQ(bench_->scale_ready, takes_scale);
    }
    ASSERT_EQ(bench_->complete, takes && words_.Item().request.last_of_word);
    if (bench_->complete != 0) {
      ASSERT_EQ(bench_->complete_place, words_.Item().place);
    }
    // After the conversion, one cycle more at least, it is joined, and a read of that cycle shows
    // it.
    if (joining_.front().has_value()) {
      Join(*joining_.front());
      passed +=
          read && joining_.front()->place == place && joining_.front()->request.last_of_operand ? 1
                                                                                                : 0;
    }
    joining_.pop_front();
    joining_.emplace_back();
    if (read) {
      shown_[0] = places_[place].operands[0];
      shown_factor_ = places_[place].factor;
      read_place_ = place;
    }
    for (size_t i = 1; late_read && i < shown_.size(); ++i)
      shown_[i] = places_[late_place].operands[i];
    if (takes) {
      joining_.back() = words_.Item();
      Forget(*joining_.back());
    }
    if (nothing) {
      places_[*nothing_].empty = true;
      nothing_.reset();
    }
    scaled += takes && wants ? 1 : 0;
    words_.Taken(takes);
    scales_.Taken(takes_scale);
    bench_.Step();
  }

  // Nothing reads what a word will overwrite.
  void Forget(const PortWord& word) {
    if (!word.request.last_of_operand) return;
    Place& place = places_[word.place];
    place.operands[word.request.operand].clear();
    if (word.request.operand != 0) return;
    place.factor.reset();  // without a window there is none
    place.empty.reset();
  }

  void Join(const PortWord& word) {
    const systolic::Stream& stream = in_.vector.operands[word.request.operand];
    const systolic::Window& window = in_.vector.window;
    const int bytes = systolic::BytesOf(stream.element, config_);
    const OperandRequest& r = word.request;
    const auto lanes = static_cast<size_t>(lanes_.front());
    lanes_.erase(lanes_.begin());
    assembled_.resize(static_cast<size_t>(config_.lanes()));
    for (size_t lane = 0; lane < lanes; ++lane) {
      if (r.access == Access::kStrided && lane != static_cast<size_t>(r.lane)) continue;
      const uint8_t* element =
          word.data.data() + (r.access == Access::kDense ? lane * static_cast<size_t>(bytes) : 0);
      float factor = stream.scale;
      if (word.blocks) {
        const size_t block = lane / static_cast<size_t>(config_.block_size);
        std::array<uint8_t, 4> code{};
        systolic::StoreBits(word.scales[block], config_.scale_format.bytes(), code.data());
        factor = systolic::BlockFactor(numbers_, stream, code.data());
      }
      const float value = systolic::LoadValue(numbers_, stream, factor, element);
      const float before =
          r.first_place ? systolic::NeutralOf(numbers_, window.combine) : assembled_[lane];
      assembled_[lane] =
          word.windowed ? systolic::Join(numbers_, window.combine, before, value) : value;
    }
    if (word.windowed && (r.access != Access::kStrided || r.lane == 0)) places_of_window_ += 1;
    if (!r.last_of_operand) return;
    Place& place = places_[word.place];
    place.operands[r.operand].assign(assembled_.begin(),
                                     assembled_.begin() + static_cast<std::ptrdiff_t>(lanes));
    if (r.operand == 0) place.empty = false;
    if (!word.windowed) return;
    ++windows;
    if (window.average) place.factor = systolic::AverageFactor(numbers_, window, places_of_window_);
    averages += window.average ? 1 : 0;
    places_of_window_ = 0;
  }

  // A number of the read side; every NaN is one.
  static uint32_t NumberAt(const std::vector<uint8_t>& bytes, size_t index) {
    uint32_t number = 0;
    for (size_t j = 0; j < Design::kNumber; ++j) {
      const size_t bit = index * Design::kNumber + j;
      number |= static_cast<uint32_t>(bytes[bit / 8] >> bit % 8 & 1) << (32 - Design::kNumber + j);
    }
    return BitsOf(std::bit_cast<float>(number));
  }
  static uint32_t BitsOf(float value) {
    return value != value ? 0x7fc00000u : std::bit_cast<uint32_t>(value);
  }

  void CheckRead() {
    if (!read_place_.has_value()) return;
    const Place& place = places_[*read_place_];
    const auto lanes = static_cast<size_t>(config_.lanes());
    const std::vector<uint8_t> bytes =
        GetBytes(bench_->read_operands, (3 * lanes * Design::kNumber + 7) / 8);
    for (size_t i = 0; i < 3; ++i) {
      for (size_t lane = 0; lane < shown_[i].size(); ++lane, ++compared) {
        ASSERT_EQ(NumberAt(bytes, i * lanes + lane), BitsOf(shown_[i][lane]))
            << "operand " << i << " lane " << lane << ", place " << *read_place_;
      }
    }
    if (place.empty.has_value()) {
      ASSERT_EQ(bench_->read_empty, *place.empty);
    }
    if (shown_factor_.has_value()) {
      ASSERT_EQ(bench_->read_factor << (32 - Design::kNumber), BitsOf(*shown_factor_));
    }
  }

  const Config config_;
  const Numbers numbers_;
  Random random_;
  Simulation<typename Design::Model> bench_;
  Source<PortWord> words_;
  Source<PortScale> scales_;
  Instruction in_;
  std::array<Place, kWords> places_;
  std::optional<size_t> read_place_;  // of the last read
  // What the places of the last reads held; operands 1 and 2 are read late.
  std::array<std::vector<float>, 3> shown_ = {};
  std::optional<float> shown_factor_;
  std::vector<int64_t> lanes_;  // of the words under way
  uint64_t next_place_ = 0;
  std::optional<uint64_t> nothing_;  // a window of this place has no place in the image, to be told
  // Words in the conversion, the last one in the cycle in which it is joined.
  std::deque<std::optional<PortWord>> joining_ =
      std::deque<std::optional<PortWord>>(1 + Design::kConvert);
  std::vector<float> assembled_;
  int32_t places_of_window_ = 0;
};

template <typename Design>
void BufferKeeps(uint64_t seed) {
  for (const double stall : {0.0, 0.4}) {
    BufferBench<Design> bench(seed, stall);
    for (int i = 0; i < 250 && !testing::Test::HasFailure(); ++i) bench.RunInstruction(i);
    EXPECT_GT(bench.compared, 20'000);
    EXPECT_GT(bench.windows, 200);
    EXPECT_GT(bench.averages, 40);
    EXPECT_GT(bench.passed, 100);
    EXPECT_GE(bench.scaled, Design::config().block_size == 0 ? 0 : 500);
  }
}
TEST(OperandBuffer, KeepsNumbersOfTwoPrecisions) { BufferKeeps<Design3>(11); }
TEST(OperandBuffer, KeepsNumbersUnderTheScaleOfSeveralWords) { BufferKeeps<Design2x8>(12); }
TEST(OperandBuffer, KeepsNumbersUnderSeveralScales) { BufferKeeps<Design4x2>(13); }
TEST(OperandBuffer, KeepsShortFloats) { BufferKeeps<DesignShort>(14); }

}  // namespace
}  // namespace kiln::rtl

// Compares the small modules of the binary machine with plain arithmetic and lists.
#include <algorithm>
#include <array>
#include <optional>

#include "Vbinary_units.h"
#include "tests/rtl/binary/bits.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

// Resets with streams that are quiet.
void Begin(Simulation<Vbinary_units>& sim) {
  sim->pack_valid = sim->copy_valid = sim->packed_ready = sim->copied_ready = 0;
  sim->in_tvalid = sim->beat_ready = sim->idle = 0;
  sim.Reset();
}

struct Affine {
  int64_t sum = 0, multiplier = 0, addend = 0, added = 0;
  bool alive = true;
};
struct Bounds {
  int shift = 0, skip_shift = 0;
  int64_t low = 0, high = 0, skip_low = 0, skip_high = 0;
  int64_t result_factor = 0, added_factor = 0, skip_addend = 0;
  bool added_signed = false;
};
struct Codes {
  int64_t result = 0, total = 0;
};

Codes Requantised(const Affine& in, const Bounds& by) {
  Codes codes;
  const int64_t value = (in.sum * in.multiplier + in.addend) >> by.shift;
  codes.result = in.alive ? std::clamp(value, by.low, by.high) : by.low;
  const int64_t added = by.added_signed ? SignedField(in.added, 8) : in.added;
  const int64_t total = codes.result * by.result_factor + added * by.added_factor + by.skip_addend;
  codes.total = std::clamp(total >> by.skip_shift, by.skip_low, by.skip_high);
  return codes;
}

// Sends sums one per cycle, and compares what leaves eight cycles later.
void CompareRequantised(Simulation<Vbinary_units>& sim, const Bounds& by,
                        const std::vector<Affine>& inputs) {
  sim->shift = static_cast<uint8_t>(by.shift);
  sim->low = static_cast<uint32_t>(by.low & 0x1ffff);
  sim->high = static_cast<uint32_t>(by.high & 0x1ffff);
  sim->added_signed = by.added_signed;
  sim->result_factor = static_cast<uint32_t>(by.result_factor & 0x1ffff);
  sim->added_factor = static_cast<uint32_t>(by.added_factor & 0x1ffff);
  sim->skip_addend = static_cast<uint64_t>(by.skip_addend) & 0xffffffffffU;
  sim->skip_shift = static_cast<uint8_t>(by.skip_shift);
  sim->skip_low = static_cast<uint32_t>(by.skip_low & 0x1ffff);
  sim->skip_high = static_cast<uint32_t>(by.skip_high & 0x1ffff);
  // Sum i is of cycle i + 1, what is added to it of cycle i.
  const size_t count = inputs.size();
  for (size_t cycle = 0; cycle < count + 9; ++cycle) {
    if (cycle < count) sim->added = static_cast<uint8_t>(inputs[cycle].added);
    if (cycle >= 1 && cycle <= count) {
      const Affine& in = inputs[cycle - 1];
      sim->sum = static_cast<uint32_t>(in.sum & 0xfffffff);
      sim->alive = in.alive;
      sim->parameters = (static_cast<uint64_t>(in.addend) << 17) |
                        (static_cast<uint64_t>(in.multiplier) & 0x1ffffU);
    }
    sim.Settle();
    if (cycle >= 9) {
      const Affine& in = inputs[cycle - 9];
      const Codes expected = Requantised(in, by);
      ASSERT_EQ(sim->result, expected.result & 255)
          << in.sum << " * " << in.multiplier << " + " << in.addend << " >> " << by.shift;
      ASSERT_EQ(sim->total, expected.total & 255)
          << expected.result << " * " << by.result_factor << ", " << in.added << " * "
          << by.added_factor << " + " << by.skip_addend << " >> " << by.skip_shift;
    }
    sim.Step();
  }
}

constexpr int64_t kMostSum = (1 << 27) - 1, kMostMultiplier = (1 << 16) - 1,
                  kMostAddend = (int64_t{1} << 46) - 1, kMostSkip = (int64_t{1} << 39) - 1;

TEST(BinaryRequantise, Corners) {
  Simulation<Vbinary_units> sim(1);
  Begin(sim);
  Random random(1);
  std::vector<Affine> inputs;
  for (const int64_t sum :
       {-kMostSum - 1, -kMostSum, int64_t{-1}, int64_t{0}, int64_t{1}, kMostSum}) {
    for (const int64_t multiplier :
         {-kMostMultiplier - 1, int64_t{-1}, int64_t{0}, int64_t{1}, kMostMultiplier}) {
      for (const int64_t addend : {-kMostAddend - 1, int64_t{-1}, int64_t{0}, kMostAddend}) {
        for (const int64_t added : {0, 1, 127, 128, 255})
          inputs.push_back({sum, multiplier, addend, added, random.Below(8) != 0});
      }
    }
  }
  for (const int shift : {0, 1, 16, 31, 32, 46, 47}) {
    for (const bool is_signed : {false, true}) {
      Bounds by;
      by.shift = shift;
      by.low = by.skip_low = is_signed ? -128 : 0;
      by.high = by.skip_high = is_signed ? 127 : 255;
      by.added_signed = is_signed;
      for (const int64_t factor : {-kMostMultiplier - 1, int64_t{1}, kMostMultiplier}) {
        by.result_factor = factor;
        by.added_factor = is_signed ? factor : -factor - 1;
        by.skip_shift = shift % 32;
        by.skip_addend = factor < 0 ? -kMostSkip - 1 : factor == 1 ? 0 : kMostSkip;
        CompareRequantised(sim, by, inputs);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(BinaryRequantise, RandomNumbers) {
  Simulation<Vbinary_units> sim(2);
  Begin(sim);
  Random random(2);
  int inside = 0, inside_total = 0;
  for (int setting = 0; setting < 150; ++setting) {
    Bounds by;
    const bool is_signed = random.Below(2) == 0;
    by.shift = static_cast<int>(random.Below(31));
    by.low = is_signed ? random.Between(-128, -1) : random.Between(0, 100);
    by.high = random.Between(by.low, is_signed ? 127 : 255);
    by.skip_low = is_signed ? random.Between(-128, 0) : 0;
    by.skip_high = random.Between(by.skip_low, is_signed ? 127 : 255);
    by.added_signed = random.Below(2) == 0;
    by.skip_shift = static_cast<int>(random.Below(17));
    by.result_factor = random.Between(-(2 << by.skip_shift) / 2, 1 << by.skip_shift) / 2;
    by.added_factor = random.Between(-(2 << by.skip_shift) / 2, 1 << by.skip_shift) / 2;
    by.skip_addend = random.Between(-30, 100) << by.skip_shift;
    std::vector<Affine> inputs;
    for (int i = 0; i < 200; ++i) {
      Affine in;
      const int bits = static_cast<int>(random.Below(28));
      in.sum = random.Between(-(int64_t{1} << bits), (int64_t{1} << bits) - 1);
      // Products of about the shift, so that results lie between the bounds.
      const int spare = std::clamp(by.shift + 8 - bits, 0, 16);
      in.multiplier = random.Between(-(1 << spare), (1 << spare) - 1);
      in.addend = random.Between(-64, 64) << std::max(0, by.shift - 1);
      in.added = static_cast<int64_t>(random.Below(256));
      in.alive = random.Below(8) != 0;
      inputs.push_back(in);
      const Codes codes = Requantised(in, by);
      inside += codes.result > by.low && codes.result < by.high ? 1 : 0;
      inside_total += codes.total > by.skip_low && codes.total < by.skip_high ? 1 : 0;
    }
    CompareRequantised(sim, by, inputs);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(inside, 3000);
  EXPECT_GT(inside_total, 3000);
}

TEST(BinaryPack, JoinsWordsBehindStalls) {
  struct Part {
    uint16_t data = 0;
    bool last = false;
  };
  Simulation<Vbinary_units> sim(4);
  Random random(4);
  Source<Part> source(Stalls(5, 0.3, Stalls::Kind::kBursts));
  Source<uint16_t> copies(Stalls(6, 0.3));
  Stalls sink(7, 0.4, Stalls::Kind::kBursts);
  std::deque<uint32_t> expected;
  std::deque<uint16_t> expected_copies;
  uint32_t word = 0;
  int parts = 0;
  for (int i = 0; i < 3000; ++i) {
    const Part part{static_cast<uint16_t>(random.Below(1024)), random.Below(4) == 0};
    source.Push(part);
    word |= uint32_t{part.data} << (10 * parts++);
    if (part.last || parts == 3) {
      expected.push_back(word);
      word = 0;
      parts = 0;
    }
    copies.Push(part.data);
    expected_copies.push_back(part.data);
  }
  Begin(sim);
  for (int cycle = 0; cycle < 40000 && !(expected.empty() && expected_copies.empty()); ++cycle) {
    source.Drive();
    copies.Drive();
    sim->pack_valid = source.Valid();
    if (source.Valid()) {
      sim->pack_data = source.Item().data;
      sim->pack_last = source.Item().last;
    }
    sim->copy_valid = copies.Valid();
    if (copies.Valid()) sim->copy_data = copies.Item();
    sim->packed_ready = sim->copied_ready = !sink.Next();
    sim.Settle();
    if (sim->packed_valid && sim->packed_ready) {
      ASSERT_FALSE(expected.empty());
      ASSERT_EQ(sim->packed_data, expected.front());
      expected.pop_front();
    }
    if (sim->copied_valid && sim->copied_ready) {
      ASSERT_FALSE(expected_copies.empty());
      ASSERT_EQ(sim->copied_data, expected_copies.front());
      expected_copies.pop_front();
    }
    source.Taken(sim->pack_ready);
    copies.Taken(sim->copy_ready);
    sim.Step();
  }
  EXPECT_TRUE(expected.empty());
  EXPECT_TRUE(expected_copies.empty());
}

// What the stream in must give.
struct Message {
  uint64_t target = 0, stage = 0, column = 0, address = 0;
  std::vector<uint64_t> beats;
};
struct RecordBeat {
  uint64_t data = 0;
  int number = 0;
  bool is_input = false;
};

// A stream of random commands and what it contains.
class Commands {
 public:
  explicit Commands(uint64_t seed) : random_(seed) {}

  void AddMachine() {
    record_ = 1 + static_cast<int>(random_.Below(5));
    input_ = static_cast<int>(random_.Between(1, record_));
    stages_ = static_cast<int>(random_.Between(1, 3));
    pixels_ = 1 + static_cast<int>(random_.Below(6));
    Header(1, 0, 0, 0, 0, 1);
    beats_.push_back(static_cast<uint64_t>(record_) | static_cast<uint64_t>(input_) << 12 |
                     static_cast<uint64_t>(stages_) << 24 | static_cast<uint64_t>(pixels_) << 28);
  }
  void AddWrite() {
    const uint64_t target = 1 + random_.Below(6), stage = random_.Below(3),
                   column = random_.Below(256), address = random_.Below(65000),
                   words = random_.Below(5);
    constexpr std::array<uint64_t, 3> kWeightBeats = {3, 1, 2};
    const uint64_t each = target == 3 ? kWeightBeats[stage] : 1;
    Header(1, target, stage, column, address, words * each);
    for (uint64_t word = 0; word < words; ++word) {
      Message message{target, stage, column, address + word, {}};
      for (uint64_t i = 0; i < each; ++i) message.beats.push_back(random_());
      beats_.insert(beats_.end(), message.beats.begin(), message.beats.end());
      messages_.push_back(message);
    }
  }
  void AddRun() {
    beats_.push_back(2);
    enabled_.push_back((1 << stages_) - 1);
    for (int i = 0; i < pixels_ * record_; ++i) {
      const RecordBeat beat{random_(), i % record_, i % record_ < input_};
      beats_.push_back(beat.data);
      records_.push_back(beat);
    }
    run_beats_.push_back(pixels_ * record_);
  }

  std::deque<uint64_t> beats_;
  std::deque<Message> messages_;
  std::deque<RecordBeat> records_;
  std::deque<int> enabled_, run_beats_;

 private:
  void Header(uint64_t command, uint64_t target, uint64_t stage, uint64_t column, uint64_t address,
              uint64_t beats) {
    beats_.push_back(command | target << 4 | stage << 8 | column << 12 | address << 20 |
                     beats << 36);
  }
  Random random_;
  int record_ = 0, input_ = 0, stages_ = 0, pixels_ = 0;
};

void ExpectMessage(Simulation<Vbinary_units>& sim, const Message& message) {
  ASSERT_EQ(sim->message_target, message.target);
  ASSERT_EQ(sim->message_stage, message.stage);
  ASSERT_EQ(sim->message_column, message.column);
  ASSERT_EQ(sim->message_address, message.address);
  if (message.target != 3) {
    ASSERT_EQ(sim->message_data, message.beats[0]);
    return;
  }
  const Bits codes(GetBytes(sim->message_codes, 20));
  for (size_t i = 0; i < message.beats.size(); ++i) {
    const size_t width = std::min<size_t>(64, 150 - 64 * i);
    const uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
    ASSERT_EQ(static_cast<uint64_t>(codes.Get(64 * i, width)), message.beats[i] & mask);
  }
}

TEST(BinaryDispatch, DeliversCommandsBehindStalls) {
  Simulation<Vbinary_units> sim(8);
  Random random(9);
  Commands commands(10);
  for (int i = 0; i < 150; ++i) {
    commands.AddMachine();
    for (uint64_t writes = random.Below(6); writes > 0; --writes) commands.AddWrite();
    for (uint64_t runs = random.Below(3); runs > 0; --runs) commands.AddRun();
  }
  Source<uint64_t> source(Stalls(11, 0.2));
  for (const uint64_t beat : commands.beats_) source.Push(beat);
  Stalls sink(12, 0.3, Stalls::Kind::kBursts);
  Begin(sim);
  int left = 0;            // beats of the run
  bool finishing = false;  // the run's beats are taken, the stages work
  bool message_due = false;
  size_t word = 0;  // beats of the message that were taken
  uint64_t header_left = 0;
  bool to_machine = false;
  for (int cycle = 0; cycle < 60000 && !(source.Empty() && !finishing && !message_due); ++cycle) {
    source.Drive();
    sim->in_tvalid = source.Valid();
    if (source.Valid()) sim->in_tdata = source.Item();
    sim->beat_ready = !sink.Next();
    sim->idle = random.Below(5) == 0;
    sim.Settle();
    ASSERT_EQ(sim->message_valid, message_due) << cycle;
    if (message_due) {
      ExpectMessage(sim, commands.messages_.front());
      if (HasFatalFailure()) return;
      commands.messages_.pop_front();
      message_due = false;
    }
    ASSERT_EQ(sim->in_tready, !finishing && (left == 0 || sim->beat_ready)) << cycle;
    const bool taken = source.Valid() && sim->in_tready;
    const bool header = taken && left == 0 && header_left == 0;
    const bool run = header && (sim->in_tdata & 15U) == 2;
    ASSERT_EQ(sim->start, run);
    ASSERT_EQ(sim->beat_valid, left > 0 && source.Valid());
    if (finishing && sim->idle) finishing = false;
    if (run) {
      left = commands.run_beats_.front();
      commands.run_beats_.pop_front();
      ASSERT_EQ(sim->enabled, commands.enabled_.front());
      commands.enabled_.pop_front();
    } else if (header) {
      header_left = sim->in_tdata >> 36;
      to_machine = (sim->in_tdata >> 4 & 15U) == 0;
    } else if (taken && left > 0) {
      const RecordBeat& beat = commands.records_.front();
      ASSERT_EQ(sim->in_tdata, beat.data);
      ASSERT_EQ(sim->beat_number, beat.number);
      ASSERT_EQ(sim->beat_is_input, beat.is_input);
      commands.records_.pop_front();
      finishing = --left == 0;
    } else if (taken) {
      --header_left;
      if (!to_machine && ++word == commands.messages_.front().beats.size()) {
        message_due = true;
        word = 0;
      }
    }
    source.Taken(sim->in_tready);
    sim.Step();
  }
  EXPECT_TRUE(source.Empty());
  EXPECT_TRUE(commands.messages_.empty());
  EXPECT_TRUE(commands.records_.empty());
}

}  // namespace
}  // namespace kiln::rtl

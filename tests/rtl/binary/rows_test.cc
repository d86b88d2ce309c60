// Compares the order of groups (walk) and the places of words (writer) with nested loops.
#include <algorithm>
#include <array>
#include <tuple>
#include <vector>

#include "Vbinary_walk.h"
#include "Vbinary_writer.h"
#include "tests/rtl/binary/bits.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

constexpr int kGroup = 3, kSteps = 2, kChannels = 3, kRowWords = 64;
constexpr size_t kTree = 1;  // cycles of the tree of three channels

int RoundedUp(int value, int unit) { return (value + unit - 1) / unit * unit; }

struct Window {
  int width = 1, height = 1, chunks = 1, kernel_height = 1, kernel_width = 1, stride = 1;
  int pad_top = 0, pad_left = 0, out_width = 1, out_height = 1, list = 1, steps = 1;
  int slots() const { return RoundedUp(std::max(kernel_height, stride), kGroup); }
};

Window RandomWindow(Random& random) {
  Window w;
  const auto between = [&](int low, int high) {
    return static_cast<int>(random.Between(low, high));
  };
  w.width = between(1, 6);
  w.height = between(1, 7);
  w.chunks = between(1, 5);
  w.kernel_height = random.Below(3) == 0 ? 1 : between(1, std::min(w.height + 1, 5));
  w.kernel_width = between(1, std::min(w.width + 1, 4));
  w.stride = between(1, 4);
  w.pad_top = between(0, w.kernel_height - 1);
  w.pad_left = between(0, w.kernel_width - 1);
  w.out_height = between(1, (w.height + w.pad_top - 1) / w.stride + 1);
  w.out_width = between(1, (w.width + w.pad_left - 1) / w.stride + 1);
  w.list = between(1, 9);
  w.steps = between(1, 4);
  return w;
}

struct Group {
  int pixel = 0, top = 0, left = 0;
  bool none = false, sums = false, sums_first = false;
  int place = 0, slot = 0, turn = 0, y = 0, x = 0, row = 0, chunk = 0, offset = 0;
  // Of the round; only a round's last group must know it.
  int weights = 0, step = 0;
  bool first_round = false, step_end = false, pixel_end = false;
};

std::vector<Group> GroupsOf(const Window& w) {
  std::vector<Group> groups;
  const bool by_chunks = w.kernel_height == 1;
  const int outer_count = by_chunks ? RoundedUp(w.chunks, kGroup) / kGroup : w.chunks;
  const int inner_count = RoundedUp(w.kernel_height, kGroup) / kGroup;
  for (int pixel = 0; pixel < w.out_width * w.out_height; ++pixel) {
    const int top = pixel / w.out_width * w.stride - w.pad_top;
    const int left = pixel % w.out_width * w.stride - w.pad_left;
    for (int step = 0; step < w.steps; ++step) {
      int count = 0;
      const auto add = [&](Group group) {
        group.pixel = pixel;
        group.top = top;
        group.left = left;
        group.place = count % kSteps;
        group.weights = count / kSteps * w.list;
        group.step = step;
        group.first_round = step == 0 && count < kSteps;
        group.sums = step == 0 && !group.none;
        group.sums_first = step == 0 && count == 0;
        groups.push_back(group);
        ++count;
      };
      for (int outer = 0; outer < outer_count; ++outer) {
        for (int column = 0; column < w.kernel_width; ++column) {
          for (int inner = 0; inner < inner_count; ++inner) {
            Group group;
            group.row = inner * kGroup;
            group.chunk = by_chunks ? outer * kGroup : outer;
            group.y = top + group.row;
            group.x = left + column;
            group.slot = (group.y + 10 * w.slots()) % w.slots();
            group.turn = (group.slot + group.chunk) % kGroup;
            group.offset = group.x * w.chunks + group.chunk;
            add(group);
          }
        }
      }
      while (count % kSteps != 0) {
        Group group;
        group.none = true;
        add(group);
      }
      groups.back().step_end = true;
      groups.back().pixel_end = step + 1 == w.steps;
    }
  }
  return groups;
}

struct StepEntry {
  int address = 0, shift = 0, digit = 0, test = 0, tests = 0;
};

void SetWindow(Simulation<Vbinary_walk>& sim, const Window& w) {
  const int top = (w.slots() - w.pad_top) % w.slots();
  const auto byte = [](int value) { return static_cast<uint8_t>(value); };
  const auto word = [](int value) { return static_cast<uint16_t>(value); };
  sim->width = word(w.width);
  sim->height = word(w.height);
  sim->chunks = byte(w.chunks);
  sim->kernel_height = byte(w.kernel_height);
  sim->kernel_width = byte(w.kernel_width);
  sim->stride = byte(w.stride);
  sim->pad_top = byte(w.pad_top);
  sim->pad_left = byte(w.pad_left);
  sim->blocks = byte(w.slots() / kGroup);
  sim->first_block = byte(top / kGroup);
  sim->first_phase = byte(top % kGroup);
  sim->stride_blocks = byte(w.stride / kGroup);
  sim->stride_phases = byte(w.stride % kGroup);
  sim->chunk_groups = w.kernel_height == 1;
  sim->outer_count = byte(w.kernel_height == 1 ? RoundedUp(w.chunks, kGroup) / kGroup : w.chunks);
  sim->inner_count = byte(RoundedUp(w.kernel_height, kGroup) / kGroup);
  sim->out_width = word(w.out_width);
  sim->out_height = word(w.out_height);
  sim->list_length = byte(w.list);
  sim->step_count = byte(w.steps);
}

void ExpectGroup(Simulation<Vbinary_walk>& sim, const Group& group,
                 const std::vector<StepEntry>& steps) {
  ASSERT_EQ(sim->group_none, group.none);
  ASSERT_EQ(sim->group_place, group.place);
  if (!group.none) {
    ASSERT_EQ(sim->group_block * kGroup + sim->group_phase, group.slot);
    ASSERT_EQ(sim->group_turn, group.turn);
    ASSERT_EQ(static_cast<int16_t>(sim->group_y), group.y);
    ASSERT_EQ(static_cast<int16_t>(sim->group_x), group.x);
    ASSERT_EQ(sim->group_row, group.row);
    ASSERT_EQ(sim->group_chunk, group.chunk);
    ASSERT_EQ(SignedField(sim->group_offset, 20), group.offset);
  }
  ASSERT_EQ(static_cast<int16_t>(sim->group_top), group.top);
  ASSERT_EQ(static_cast<int16_t>(sim->group_left), group.left);
  ASSERT_EQ(sim->group_sums, group.sums);
  ASSERT_EQ(sim->group_sums_first, group.sums_first);
  if (group.place != kSteps - 1) return;
  const StepEntry& step = steps[static_cast<size_t>(group.step)];
  const uint64_t round = sim->round;
  const auto field = [&](int at, int bits) {
    return static_cast<int>(round >> at & ((uint64_t{1} << bits) - 1));
  };
  ASSERT_EQ(field(0, 5), step.shift);
  ASSERT_EQ(field(5, 16), step.address + group.weights);
  ASSERT_EQ(field(21, 8), step.tests);
  ASSERT_EQ(field(29, 2), step.digit);
  ASSERT_EQ(field(31, 1), group.step_end ? step.test : 0);
  ASSERT_EQ(field(32, 1), group.first_round);
  ASSERT_EQ(field(33, 1), group.step_end && group.step == 0);
  ASSERT_EQ(field(34, 1), group.first_round);
  ASSERT_EQ(field(35, 1), group.pixel_end);
}

// Returns whether the window of a group is written up to (y, x).
bool IsWritten(const Window& w, const Group& group, int y, int x) {
  const int bottom = std::min(group.top + w.kernel_height, w.height) - 1;
  const int right = std::min(group.left + w.kernel_width, w.width) - 1;
  return y > bottom || (y == bottom && x > right);
}

TEST(BinaryWalk, OffersGroupsInTheOrderOfTheContract) {
  Simulation<Vbinary_walk> sim(1);
  Random random(1);
  sim->start = sim->advance = sim->write_step = 0;
  SetWindow(sim, Window());
  sim.Reset();
  for (int run = 0; run < 120; ++run) {
    const Window w = RandomWindow(random);
    SCOPED_TRACE(run);
    SetWindow(sim, w);
    std::vector<StepEntry> steps;
    for (int i = 0; i < w.steps; ++i) {
      StepEntry step{static_cast<int>(random.Below(30000)), static_cast<int>(random.Below(32)),
                     static_cast<int>(random.Below(4)), static_cast<int>(random.Below(2)),
                     static_cast<int>(random.Below(256))};
      sim->write_step = 1;
      sim->write_address = static_cast<uint8_t>(i);
      sim->write_data = static_cast<uint32_t>(step.address | step.shift << 16 | step.digit << 21 |
                                              step.test << 23) |
                        static_cast<uint32_t>(step.tests) << 24;
      sim.Settle();
      sim.Step();
      steps.push_back(step);
    }
    sim->write_step = 0;
    sim->written_y = sim->written_x = 0;
    sim->start = 1;
    sim->advance = 0;
    sim.Settle();
    sim.Step();
    sim->start = 0;
    Stalls stalls(static_cast<uint64_t>(run), run % 2 == 0 ? 0.3 : 0);
    const double pace = run % 3 == 0 ? 1 : 0.2;
    const std::vector<Group> groups = GroupsOf(w);
    size_t at = 0;
    int y = 0, x = 0, cycle = 0, pixel_began = 0;
    int known_y = 0, known_x = 0;  // what was written two cycles ago
    std::deque<std::pair<int, int>> past(3);
    while (at < groups.size()) {
      ASSERT_LT(++cycle, 20000);
      if (y < w.height && random.Uniform() < pace && ++x == w.width) {
        x = 0;
        ++y;
      }
      past.emplace_front(y, x);
      std::tie(known_y, known_x) = past[2];
      past.pop_back();
      sim->written_y = static_cast<uint16_t>(y);
      sim->written_x = static_cast<uint16_t>(x);
      sim->advance = !stalls.Next();
      sim.Settle();
      if (sim->advance && sim->group_valid) {
        const Group& group = groups[at];
        if (at == 0 || groups[at - 1].pixel != group.pixel) {
          ASSERT_TRUE(IsWritten(w, group, known_y, known_x)) << "too early";
          if (at > 0 && run % 2 != 0) {
            ASSERT_GE(cycle - pixel_began, 3);
          }
        }
        ExpectGroup(sim, group, steps);
        if (HasFatalFailure()) return;
        if (group.pixel_end) pixel_began = cycle;
        ++at;
      }
      sim.Step();
    }
    sim.Settle();
    EXPECT_TRUE(sim->finished);
    sim->advance = 1;
    for (int i = 0; i < 4; ++i) {
      sim.Step();
      sim.Settle();
      EXPECT_FALSE(sim->group_valid);
    }
  }
}

struct Word {
  std::array<int, kChannels> codes{};
  int y = 0, x = 0, chunk = 0;
};

// The writes of a cycle.
struct Writes {
  int memory = -1, address = 0;
  Word word;
  int y = 0, x = 0;  // behind the last whole pixel
};

class WriterTest {
 public:
  explicit WriterTest(uint64_t seed) : sim_(seed), random_(seed) {
    sim_->start = sim_->in_valid = 0;
    sim_.Reset();
  }

  void Run(double stall) {
    do w_ = RandomWindow(random_);
    while (w_.slots() / kGroup * w_.width * w_.chunks > kRowWords);
    signed_ = random_.Below(2) == 0;
    top_digit_ = static_cast<int>(random_.Below(2));
    Begin();
    Stalls stalls(random_(), stall);
    Word next;
    std::deque<Writes> past(2 + kTree);
    int limit_y = -w_.pad_top, limit_x = 0, end_y = limit_y + w_.slots(), end_x = 0;
    bool offered = false, all = false;
    for (int cycle = 0, after = 0; after < 5; ++cycle) {
      after += all ? 1 : 0;
      ASSERT_LT(cycle, 20000);
      // Windows move on; at last all are done.
      const bool unlimited = random_.Below(400) == 0;
      if (random_.Below(4) == 0 && ++limit_x >= w_.width) {
        limit_x = 0;
        limit_y += w_.stride;
      }
      offered = !all && (offered || !stalls.Next());
      sim_->unlimited = unlimited;
      sim_->limit_y = static_cast<uint16_t>(limit_y);
      sim_->limit_x = static_cast<uint16_t>(limit_x);
      sim_->in_valid = offered;
      if (offered) SetData(next);
      sim_.Settle();
      const bool room = unlimited || next.y < end_y || (next.y == end_y && next.x < end_x);
      ASSERT_EQ(sim_->in_ready, !all && room) << cycle;
      ASSERT_EQ(sim_->finished, all);
      ExpectWrites(past);
      if (::testing::Test::HasFatalFailure()) return;
      Writes writes = past.front();
      writes.memory = -1;
      if (offered && room) {
        const int slot = next.y % w_.slots();
        writes.memory = (slot + next.chunk) % kGroup;
        writes.address = (slot / kGroup * w_.width + next.x) * w_.chunks + next.chunk;
        writes.word = next;
        Advance(&next, &writes);
        all = next.y == w_.height;
        offered = false;
      }
      past.push_front(writes);
      past.pop_back();
      end_y = limit_y + w_.slots();
      end_x = limit_x;
      sim_.Step();
    }
  }

 private:
  void Begin() {
    sim_->width = static_cast<uint16_t>(w_.width);
    sim_->height = static_cast<uint16_t>(w_.height);
    sim_->chunks = static_cast<uint8_t>(w_.chunks);
    sim_->row_pitch = static_cast<uint32_t>(w_.width * w_.chunks);
    sim_->blocks = static_cast<uint8_t>(w_.slots() / kGroup);
    sim_->row_slots = static_cast<uint8_t>(w_.slots());
    sim_->signed_codes = signed_;
    sim_->top_digit = static_cast<uint8_t>(top_digit_);
    sim_->limit_y = static_cast<uint16_t>(-w_.pad_top);
    sim_->limit_x = 0;
    sim_->unlimited = 0;
    sim_->in_valid = 0;
    sim_->start = 1;
    sim_.Settle();
    sim_.Step();
    sim_->start = 0;
  }
  void SetData(Word& word) {
    if (word.codes[0] == kUnset) {
      for (int& code : word.codes) code = static_cast<int>(random_.Below(256));
    }
    sim_->in_data = static_cast<uint32_t>(word.codes[0] | word.codes[1] << 8 | word.codes[2] << 16);
  }
  // Goes on to the next word, and sets the place behind the last whole pixel.
  void Advance(Word* next, Writes* writes) const {
    next->codes[0] = kUnset;
    if (++next->chunk < w_.chunks) return;
    next->chunk = 0;
    if (++next->x == w_.width) {
      next->x = 0;
      ++next->y;
    }
    writes->y = next->y;
    writes->x = next->x;
  }
  // past[k]: what was taken k + 1 cycles before.
  void ExpectWrites(const std::deque<Writes>& past) {
    const Writes& now = past[0];
    ASSERT_EQ(sim_->word_enable, now.memory < 0 ? 0 : 1 << now.memory);
    if (now.memory >= 0) {
      ASSERT_EQ(sim_->word_address, now.address);
      const auto& codes = now.word.codes;
      ASSERT_EQ(sim_->word_data, static_cast<uint32_t>(codes[0] | codes[1] << 8 | codes[2] << 16));
    }
    const Writes& late = past[kTree];
    ASSERT_EQ(sim_->sums_enable, late.memory < 0 ? 0 : 1 << late.memory);
    if (late.memory >= 0) {
      ASSERT_EQ(sim_->sums_address, late.address);
      for (int digit = 0; digit < 2; ++digit) {
        int64_t sum = 0;
        for (const int code : late.word.codes) {
          const int value = code >> (4 * digit) & 15;
          sum += signed_ && digit == top_digit_ && value >= 8 ? value - 16 : value;
        }
        ASSERT_EQ(SignedField(sim_->sums_data >> (7 * digit), 7), sum);
      }
    }
    ASSERT_EQ(sim_->written_y, past[kTree + 1].y);
    ASSERT_EQ(sim_->written_x, past[kTree + 1].x);
  }

  static constexpr int kUnset = -1;
  Simulation<Vbinary_writer> sim_;
  Random random_;
  Window w_;
  bool signed_ = false;
  int top_digit_ = 0;
};

TEST(BinaryWriter, PlacesWordsAndWaitsForWindows) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    WriterTest test(seed);
    for (int run = 0; run < 15; ++run) {
      SCOPED_TRACE(std::to_string(seed) + ", run " + std::to_string(run));
      test.Run(run % 3 == 0 ? 0 : 0.4);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace kiln::rtl

// Compares kiln_dataflow_weight_stream with the words in memory, and with an ideal memory the cycle
// of every request and every word with the times that its header states.
#include <deque>

#include "Vweight_stream_20.h"
#include "Vweight_stream_72.h"
#include "rtl/testbench/kiln_axi_memory.h"
#include "tests/rtl/dataflow/words.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

using testbench::AxiMemory;
using testbench::AxiReadPort;
using testbench::AxiTiming;

struct Shape {
  int width;
  uint64_t words, data_bytes;
};

// Runs a few passes over the words. `room_stall`: how often the channel has no room.
template <typename Model>
void ReadsAgainAndAgain(const Shape& shape, const AxiTiming& timing, bool ideal, uint64_t base,
                        double room_stall, double run_stall, uint64_t seed) {
  AxiMemory memory(1 << 14, timing);
  Random random(seed);
  for (uint8_t& byte : memory.bytes()) byte = static_cast<uint8_t>(random());
  AxiReadPort bus(&memory, static_cast<int>(shape.data_bytes), seed);
  Simulation<Model> stream(seed);
  Stalls room(seed + 1, room_stall, Stalls::Kind::kBursts);
  Stalls run(seed + 2, run_stall, Stalls::Kind::kBursts);
  stream->run = 0;
  stream->base_address = base;
  stream->out_room = 0;
  stream->axi_arready = stream->axi_rvalid = 0;
  stream.Reset();

  const uint64_t bytes = (static_cast<uint64_t>(shape.width) + 7) / 8;
  std::deque<uint64_t> due;  // cycles of the words in flight
  uint64_t requested = 0, pushed = 0, next_request = 0;
  while (pushed < 3 * shape.words + 2) {
    const uint64_t now = stream.Cycle();
    ASSERT_LT(now, 20000u);
    stream->run = !run.Next();
    stream->out_room = !room.Next();
    KILN_AXI_DRIVE_READ(*stream, axi, bus);
    stream.Settle();
    if (ideal) {
      ASSERT_EQ(stream->out_reserve, stream->run && stream->out_room && now >= next_request)
          << "cycle " << now;
      ASSERT_EQ(stream->out_push, !due.empty() && due.front() == now) << "cycle " << now;
    }
    if (stream->out_reserve) {
      ASSERT_TRUE(stream->run && stream->out_room);
      const uint64_t address = base + requested % shape.words * bytes;
      const uint64_t beats = (address % shape.data_bytes + bytes - 1) / shape.data_bytes + 1;
      due.push_back(now + beats + timing.latency + 1);
      next_request = now + beats;
      ++requested;
    }
    if (stream->out_push) {
      ASSERT_FALSE(due.empty()) << "a word that was not requested";
      due.pop_front();
      const auto* begin = memory.bytes().data() + base + pushed % shape.words * bytes;
      std::vector<uint8_t> expected(begin, begin + bytes);
      if (shape.width % 8 != 0) {
        expected.back() = static_cast<uint8_t>(expected.back() & ((1 << shape.width % 8) - 1));
      }
      ASSERT_EQ(GetBytes(stream->out_data, bytes), expected) << "word " << pushed;
      ++pushed;
    }
    KILN_AXI_SAMPLE_READ(*stream, axi, bus);
    stream.Step();
  }
  EXPECT_FALSE(stream->fault);
}

template <typename Model>
void Reads(const Shape& shape) {
  uint64_t seed = 1;
  for (const uint64_t base : {uint64_t{64}, uint64_t{4096 - 13}}) {
    for (const uint64_t latency : {1, 5, 14}) {
      for (const double stall : {0.0, 0.5}) {
        AxiTiming timing;
        timing.latency = latency;
        ReadsAgainAndAgain<Model>(shape, timing, true, base, stall, stall / 2, ++seed);
        timing.StallAll(0.4);
        ReadsAgainAndAgain<Model>(shape, timing, false, base, stall, stall / 2, ++seed);
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(WeightStream, ReadsWordsOfNineBytesInTheCyclesOfItsHeader) {
  Reads<Vweight_stream_72>({72, 7, 8});
}

TEST(WeightStream, ReadsWordsOfTwentyBitsInTheCyclesOfItsHeader) {
  Reads<Vweight_stream_20>({20, 5, 16});
}

TEST(WeightStream, ReportsAFaultOfTheBus) {
  AxiMemory memory(1 << 12);
  memory.Poison(0, 16);
  AxiReadPort bus(&memory, 16, 1);
  Simulation<Vweight_stream_20> stream;
  stream->run = stream->out_room = 1;
  stream->base_address = 0;
  stream->axi_arready = stream->axi_rvalid = 0;
  stream.Reset();
  for (int i = 0; i < 40; ++i) {
    KILN_AXI_DRIVE_READ(*stream, axi, bus);
    stream.Settle();
    KILN_AXI_SAMPLE_READ(*stream, axi, bus);
    stream.Step();
  }
  EXPECT_TRUE(stream->fault);
}

}  // namespace
}  // namespace kiln::rtl

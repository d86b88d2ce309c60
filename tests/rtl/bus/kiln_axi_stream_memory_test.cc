// Compares kiln_axi_stream_reader and kiln_axi_stream_writer with a plain byte array: the beats of
// runs at any address and of any length, with stalls on every handshake, and their rate without.
#include <algorithm>
#include <cstring>

#include "Vstream_reader_16_24.h"
#include "Vstream_reader_16_4.h"
#include "Vstream_reader_8_3.h"
#include "Vstream_reader_8_64.h"
#include "Vstream_writer_16_24.h"
#include "Vstream_writer_16_4.h"
#include "Vstream_writer_8_3.h"
#include "Vstream_writer_8_64.h"
#include "rtl/testbench/kiln_axi_memory.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

using testbench::AxiMemory;
using testbench::AxiReadPort;
using testbench::AxiTiming;
using testbench::AxiWritePort;

constexpr uint64_t kMemoryBytes = 1 << 15;

struct Transfer {
  uint64_t address;
  uint32_t beats;
};

// Runs of no beats, of one, of a few, and across many parts.
std::vector<Transfer> RandomRuns(Random& random, int beat_bytes) {
  std::vector<Transfer> runs;
  const uint64_t most = 4096 / static_cast<uint64_t>(beat_bytes);
  for (uint64_t i = 0; i < 40; ++i) {
    const uint64_t beats = i < 2 ? i : random.Below(i % 2 == 0 ? most : 24);
    const uint64_t bytes = beats * static_cast<uint64_t>(beat_bytes);
    runs.push_back({random.Below(kMemoryBytes - bytes), static_cast<uint32_t>(beats)});
  }
  return runs;
}

AxiTiming TimingOf(double stall) {
  AxiTiming timing;
  timing.latency = 9;
  timing.stall_ar = timing.stall_r = timing.stall_aw = timing.stall_w = timing.stall_b = stall;
  return timing;
}

// Fills the memory with random bytes.
void Fill(AxiMemory& memory, uint64_t seed) {
  Random random(seed);
  for (uint8_t& byte : memory.bytes()) byte = static_cast<uint8_t>(random());
}

template <typename Model>
void Start(Simulation<Model>& model, const Transfer& run) {
  model->start = 1;
  model->address = run.address;
  model->beat_count = run.beats;
}

// Performs runs of a reader. Returns the cycles from the first beat of each run to its last one.
template <typename Model, int kDataBytes, int kBeatBytes>
std::vector<uint64_t> Read(const std::vector<Transfer>& runs, double stall, uint64_t seed) {
  AxiMemory memory(kMemoryBytes, TimingOf(stall));
  Fill(memory, seed);
  AxiReadPort bus(&memory, kDataBytes, seed);
  Simulation<Model> reader(seed);
  Stalls stalls(seed + 1, stall);
  reader->start = reader->out_tready = reader->axi_arready = reader->axi_rvalid = 0;
  reader.Reset();
  std::vector<uint64_t> spans;
  for (const Transfer& run : runs) {
    Start(reader, run);
    uint64_t cycle = 0, first = 0, last = 0;
    uint32_t beats = 0;
    do {
      reader->out_tready = !stalls.Next();
      KILN_AXI_DRIVE_READ(*reader, axi, bus);
      reader.Settle();
      if (reader->out_tvalid && reader->out_tready) {
        const std::vector<uint8_t> found = GetBytes(reader->out_tdata, kBeatBytes);
        const auto at = memory.bytes().begin() +
                        static_cast<ptrdiff_t>(run.address + uint64_t{beats} * kBeatBytes);
        EXPECT_TRUE(std::equal(found.begin(), found.end(), at)) << "beat " << beats;
        if (beats++ == 0) first = cycle;
        last = cycle;
      }
      KILN_AXI_SAMPLE_READ(*reader, axi, bus);
      reader.Step();
      reader->start = 0;
      reader.Settle();
      EXPECT_EQ(reader->fault, 0);
      if (++cycle > 100'000) {
        ADD_FAILURE() << "the run does not end";
        return spans;
      }
    } while (reader->busy);
    EXPECT_EQ(beats, run.beats);
    EXPECT_TRUE(bus.idle());
    spans.push_back(beats == 0 ? 0 : last - first + 1);
  }
  return spans;
}

// Does the same for a writer: after each run the memory holds its beats and is else unchanged.
template <typename Model, int kDataBytes, int kBeatBytes>
std::vector<uint64_t> Write(const std::vector<Transfer>& runs, double stall, uint64_t seed) {
  AxiMemory memory(kMemoryBytes, TimingOf(stall));
  Fill(memory, seed);
  AxiWritePort bus(&memory, kDataBytes, seed);
  Simulation<Model> writer(seed);
  Random random(seed);
  Stalls stalls(seed + 1, stall);
  writer->start = writer->in_tvalid = 0;
  writer->axi_awready = writer->axi_wready = writer->axi_bvalid = 0;
  writer.Reset();
  std::vector<uint64_t> spans;
  std::vector<uint8_t> expected = memory.bytes();
  for (const Transfer& run : runs) {
    std::vector<uint8_t> beat(kBeatBytes);
    bool offered = false;
    uint64_t cycle = 0, first = 0, last = 0;
    uint32_t beats = 0;
    Start(writer, run);
    do {
      // Beats are offered beyond the end of the run, too, where they must not be taken.
      if (!offered && !stalls.Next()) {
        for (uint8_t& byte : beat) byte = static_cast<uint8_t>(random());
        offered = true;
      }
      writer->in_tvalid = offered;
      SetBytes(writer->in_tdata, beat);
      KILN_AXI_DRIVE_WRITE(*writer, axi, bus);
      writer.Settle();
      if (writer->in_tvalid && writer->in_tready) {
        std::ranges::copy(beat, expected.begin() + static_cast<ptrdiff_t>(
                                                       run.address + uint64_t{beats} * kBeatBytes));
        if (beats++ == 0) first = cycle;
        last = cycle;
        offered = false;
      }
      KILN_AXI_SAMPLE_WRITE(*writer, axi, bus);
      writer.Step();
      writer->start = 0;
      writer.Settle();
      EXPECT_EQ(writer->fault, 0);
      if (++cycle > 100'000) {
        ADD_FAILURE() << "the run does not end";
        return spans;
      }
    } while (writer->busy);
    EXPECT_EQ(beats, run.beats);
    EXPECT_TRUE(memory.bytes() == expected) << run.address << ", " << run.beats << " beats";
    spans.push_back(beats == 0 ? 0 : last - first + 1);
  }
  return spans;
}

template <typename Reader, typename Writer, int kDataBytes, int kBeatBytes>
void Exercise() {
  for (const double stall : {0.0, 0.3, 0.8}) {
    for (uint64_t seed = 1; seed <= 2; ++seed) {
      Random random(seed);
      const std::vector<Transfer> runs = RandomRuns(random, kBeatBytes);
      Read<Reader, kDataBytes, kBeatBytes>(runs, stall, seed);
      Write<Writer, kDataBytes, kBeatBytes>(runs, stall, seed);
    }
  }
}

TEST(AxiStreamMemory, BeatsNarrowerThanTheMemory) {
  Exercise<Vstream_reader_16_4, Vstream_writer_16_4, 16, 4>();
}
TEST(AxiStreamMemory, BeatsOfThreeBytes) {
  Exercise<Vstream_reader_8_3, Vstream_writer_8_3, 8, 3>();
}
TEST(AxiStreamMemory, BeatsThatDoNotDivideAPart) {
  Exercise<Vstream_reader_16_24, Vstream_writer_16_24, 16, 24>();
}
TEST(AxiStreamMemory, BeatsWiderThanAPart) {
  Exercise<Vstream_reader_8_64, Vstream_writer_8_64, 8, 64>();
}

// Parts of 64 bytes are 4 beats of the memory and 16 of the stream, so the stream has a beat in
// every cycle; 800 beats of 64 bytes take 8 cycles each of a memory of 8 bytes a cycle.
TEST(AxiStreamMemory, RateWithoutStalls) {
  const std::vector<Transfer> runs = {{64, 800}};
  EXPECT_EQ((Read<Vstream_reader_16_4, 16, 4>(runs, 0, 1)), std::vector<uint64_t>{800});
  EXPECT_EQ((Write<Vstream_writer_16_4, 16, 4>(runs, 0, 1)), std::vector<uint64_t>{800});
  const std::vector<Transfer> wide = {{64, 400}};
  EXPECT_EQ((Read<Vstream_reader_8_64, 8, 64>(wide, 0, 1)), std::vector<uint64_t>{8 * 399 + 1});
  // Two parts are taken before the memory has them.
  EXPECT_NEAR((Write<Vstream_writer_16_24, 16, 24>(wide, 0, 1)).front(), 400 * 24 / 16, 2 * 3);
  EXPECT_NEAR((Write<Vstream_writer_8_64, 8, 64>(wide, 0, 1)).front(), 400 * 64 / 8, 3 * 8);
}

// An error response is a fault until the reset; the run ends nevertheless.
TEST(AxiStreamMemory, ErrorsOfReadsAreFaults) {
  AxiMemory memory(kMemoryBytes, TimingOf(0));
  memory.Poison(128, 1);
  AxiReadPort bus(&memory, 16, 1);
  Simulation<Vstream_reader_16_4> reader(1);
  reader->start = reader->axi_arready = reader->axi_rvalid = 0;
  reader->out_tready = 1;
  reader.Reset();
  Start(reader, {64, 32});
  for (int cycle = 0; cycle < 100; ++cycle) {
    KILN_AXI_DRIVE_READ(*reader, axi, bus);
    reader.Settle();
    KILN_AXI_SAMPLE_READ(*reader, axi, bus);
    reader.Step();
    reader->start = 0;
  }
  EXPECT_EQ(reader->busy, 0);
  EXPECT_EQ(reader->fault, 1);
}

TEST(AxiStreamMemory, ErrorsOfWritesAreFaults) {
  AxiMemory memory(kMemoryBytes, TimingOf(0));
  memory.Poison(128, 1);
  AxiWritePort written(&memory, 16, 1);
  Simulation<Vstream_writer_16_4> writer(1);
  writer->start = writer->axi_awready = writer->axi_wready = writer->axi_bvalid = 0;
  writer->in_tvalid = 1;
  writer.Reset();
  Start(writer, {64, 32});
  for (int cycle = 0; cycle < 100; ++cycle) {
    KILN_AXI_DRIVE_WRITE(*writer, axi, written);
    writer.Settle();
    KILN_AXI_SAMPLE_WRITE(*writer, axi, written);
    writer.Step();
    writer->start = 0;
  }
  EXPECT_EQ(writer->busy, 0);
  EXPECT_EQ(writer->fault, 1);
}

}  // namespace
}  // namespace kiln::rtl

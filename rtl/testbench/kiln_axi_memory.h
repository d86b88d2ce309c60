// A memory behind AXI4 ports, for testbenches of Verilated designs. Self-contained C++17, because
// it is copied into emitted designs.
//
// One AxiMemory holds the bytes. Each bus accesses it through an AxiReadPort, an AxiWritePort or
// both; an AXI bus with several IDs has one pair. Every clock cycle consists of these steps:
//
//   KILN_AXI_DRIVE_READ(top, axi, port);     // the memory's side of AR and R
//   top.eval();                              // combinational logic follows
//   KILN_AXI_SAMPLE_READ(top, axi, port);    // handshakes of this cycle
//   rising clock edge
//
// KILN_AXI_DRIVE_WRITE and KILN_AXI_SAMPLE_WRITE do the same for AW, W and B.
// The ports are named axi_arvalid, axi_rdata, ...: the second argument is the prefix of _arvalid.
// Buses with IDs use the macros that end in _ID.
//
// kiln_memory_timing.h gives the time of each burst in an ideal memory, or in a DRAM with a data
// bus that all ports share. Besides, each of the five channels can stall with a probability of its
// own, in stretches of random length. A stall never changes an offer.
//
// The order is the strictest that AXI allows: a read returns the bytes at the time when its address
// is accepted; a write changes them in the cycle in which its response is offered. A master that
// reads an address that it has written, without waiting for the response, gets the old bytes.
//
// The memory begins at the address KILN_MEMORY_BASE of the buses, by default 0; bytes() and
// Poison() count from there. Accesses below it, and at or beyond the size, are answered by DECERR,
// and reads there return 0xee bytes; accesses to a range given to Poison() are answered by SLVERR.
// The seeds determine the behaviour completely.
#ifndef KILN_TESTBENCH_AXI_MEMORY_H_
#define KILN_TESTBENCH_AXI_MEMORY_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "kiln_memory_timing.h"

#ifndef KILN_MEMORY_BASE
#define KILN_MEMORY_BASE 0
#endif

namespace kiln::testbench {

namespace internal {

// The bytes of one beat. The widest data bus has 1024 bits; a fixed array needs no allocation.
using BeatBytes = std::array<uint8_t, 128>;

// The random number generator SplitMix64 (Steele, Lea, Flood 2014), whose only state is a counter.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t x = state_;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

 private:
  uint64_t state_;
};

// A random sequence of stalled and free stretches, each of 1 to `longest` cycles. Next() returns
// whether the next cycle is stalled.
class StallStream {
 public:
  StallStream(uint64_t seed, double probability, uint64_t longest)
      : dice_(seed), probability_(probability), longest_(std::max<uint64_t>(longest, 1)) {}
  bool Next() {
    if (probability_ <= 0) {
      return false;
    }
    if (remaining_ == 0) {
      stalled_ = dice_.Uniform() < probability_;
      remaining_ = 1 + dice_.Next() % longest_;
    }
    --remaining_;
    return stalled_;
  }

 private:
  Dice dice_;
  double probability_;
  uint64_t longest_;
  uint64_t remaining_ = 0;
  bool stalled_ = false;
};

}  // namespace internal

// The memory: its bytes, and the DRAM's data bus, which all ports share.
class AxiMemory {
 public:
  explicit AxiMemory(uint64_t bytes, const AxiTiming& timing = AxiTiming())
      : bus_(timing), bytes_(bytes) {}

  std::vector<uint8_t>& bytes() { return bytes_; }
  const std::vector<uint8_t>& bytes() const { return bytes_; }
  const AxiTiming& timing() const { return bus_.timing(); }
  MemoryBus& bus() { return bus_; }

  // Makes accesses that touch [address, address + size) fail from now on: they are answered by
  // SLVERR, reads return the bytes, and writes change nothing.
  void Poison(uint64_t address, uint64_t size) { poisoned_.emplace_back(address, address + size); }
  // Undoes all calls of Poison().
  void Heal() { poisoned_.clear(); }

  // Returns the AXI response code for an access.
  unsigned Response(uint64_t address, uint64_t size) const {
    address -= kBase;  // below the base: beyond any size
    if (address >= bytes_.size() || size > bytes_.size() - address) {
      return 3;  // DECERR
    }
    for (const auto& [begin, end] : poisoned_) {
      if (address < end && begin < address + size) {
        return 2;  // SLVERR
      }
    }
    return 0;
  }

  // Reads `size` bytes; returns 0xee bytes beyond the memory.
  void Read(uint64_t address, uint64_t size, uint8_t* data) const {
    if (Response(address, size) == 3) {
      std::memset(data, 0xee, size);
    } else {
      std::memcpy(data, bytes_.data() + (address - kBase), size);
    }
  }
  // Writes the bytes whose strobe is set: bit i of strobes_lo is byte i, bit i of strobes_hi byte
  // 64 + i. Does nothing if the access has an error response.
  void Write(uint64_t address, const uint8_t* data, uint64_t strobes_lo, uint64_t strobes_hi,
             uint64_t size) {
    if (Response(address, size) != 0) {
      return;
    }
    for (uint64_t i = 0; i < size; ++i) {
      if (((i < 64 ? strobes_lo >> i : strobes_hi >> (i - 64)) & 1) != 0) {
        bytes_[address - kBase + i] = data[i];
      }
    }
  }

 private:
  static constexpr uint64_t kBase = KILN_MEMORY_BASE;

  MemoryBus bus_;
  std::vector<uint8_t> bytes_;
  std::vector<std::pair<uint64_t, uint64_t>> poisoned_;
};

// The memory's side of the channels AR and R of one bus.
class AxiReadPort {
 public:
  AxiReadPort(AxiMemory* memory, unsigned data_bytes, uint64_t seed = 1)
      : memory_(memory),
        data_bytes_(data_bytes),
        stall_ar_(seed * 5 + 0, memory->timing().stall_ar, memory->timing().longest_stall),
        stall_r_(seed * 5 + 1, memory->timing().stall_r, memory->timing().longest_stall) {}

  // Outputs of this cycle.
  bool arready() const { return arready_; }
  bool rvalid() const { return rvalid_; }
  const uint8_t* rdata() const { return beats_.front().data.data(); }
  unsigned data_bytes() const { return data_bytes_; }
  unsigned rresp() const { return beats_.front().response; }
  bool rlast() const { return beats_.front().last; }
  unsigned rid() const { return beats_.front().id; }

  // Begins a cycle: decides whether the memory accepts an address and offers data.
  void Drive() {
    arready_ = !stall_ar_.Next();
    const bool stalled = stall_r_.Next();
    rvalid_ = !beats_.empty() && (rvalid_ || (!stalled && beats_.front().cycle <= now_));
  }

  // Ends a cycle: performs the handshakes. The arguments are the master's signals.
  void Sample(bool arvalid, uint64_t araddr, unsigned arlen, unsigned arid, bool rready) {
    if (rvalid_ && rready) {
      beats_.pop_front();
      rvalid_ = false;
      ++beats_taken_;
    }
    if (arvalid && arready_) {
      Ask(araddr, arlen + 1, arid);
    }
    ++now_;
  }

  // Bursts requested and beats transferred since construction.
  uint64_t bursts_taken() const { return bursts_taken_; }
  uint64_t beats_taken() const { return beats_taken_; }
  // Whether no beat is in flight.
  bool idle() const { return beats_.empty(); }

 private:
  struct Beat {
    uint64_t cycle;  // earliest cycle on the bus
    internal::BeatBytes data;
    unsigned response;
    bool last;
    unsigned id;
  };

  void Ask(uint64_t address, uint64_t beats, unsigned id) {
    uint64_t i = 0;
    times_.Book(memory_->bus(), now_, address, beats, data_bytes_, [&](uint64_t cycle) {
      Beat beat{cycle, {}, memory_->Response(address, data_bytes_), ++i == beats, id};
      memory_->Read(address, data_bytes_, beat.data.data());
      beats_.push_back(std::move(beat));
      address += data_bytes_;
    });
    ++bursts_taken_;
  }

  AxiMemory* memory_;
  unsigned data_bytes_;
  internal::StallStream stall_ar_, stall_r_;
  std::deque<Beat> beats_;
  ReadTimes times_;
  uint64_t now_ = 0;
  bool arready_ = false, rvalid_ = false;
  uint64_t bursts_taken_ = 0, beats_taken_ = 0;
};

// The memory's side of the channels AW, W and B of one bus. The functions are those of AxiReadPort.
class AxiWritePort {
 public:
  AxiWritePort(AxiMemory* memory, unsigned data_bytes, uint64_t seed = 1)
      : memory_(memory),
        data_bytes_(data_bytes),
        stall_aw_(seed * 5 + 2, memory->timing().stall_aw, memory->timing().longest_stall),
        stall_w_(seed * 5 + 3, memory->timing().stall_w, memory->timing().longest_stall),
        stall_b_(seed * 5 + 4, memory->timing().stall_b, memory->timing().longest_stall) {}

  bool awready() const { return awready_; }
  bool wready() const { return wready_; }
  bool bvalid() const { return bvalid_; }
  unsigned bresp() const { return responses_.front().response; }
  unsigned bid() const { return responses_.front().id; }

  void Drive() {
    awready_ = !stall_aw_.Next();
    wready_ = !stall_w_.Next();
    const bool stalled = stall_b_.Next();
    if (!bvalid_ && !responses_.empty() && !stalled && responses_.front().cycle <= now_) {
      bvalid_ = true;
      Commit(&responses_.front());
    }
  }

  // Ends a cycle. `wdata` points to data_bytes bytes and `wstrb` to as many bits, least significant
  // first.
  void Sample(bool awvalid, uint64_t awaddr, unsigned awlen, unsigned awid, bool wvalid,
              const void* wdata, const void* wstrb, bool wlast, bool bready) {
    if (bvalid_ && bready) {
      responses_.pop_front();
      bvalid_ = false;
    }
    if (awvalid && awready_) {
      addresses_.push_back({awaddr, awlen + 1, awid});
    }
    if (wvalid && wready_) {
      Beat beat{{}, 0, 0};
      std::memcpy(beat.data.data(), wdata, data_bytes_);
      std::memcpy(&beat.strobes_lo, wstrb, std::min<size_t>(data_bytes_ / 8, 8));
      if (data_bytes_ > 64) {
        std::memcpy(&beat.strobes_hi, static_cast<const uint8_t*>(wstrb) + 8, data_bytes_ / 8 - 8);
      }
      burst_.push_back(std::move(beat));
      ++beats_taken_;
      if (wlast) {
        data_.push_back(std::move(burst_));
        burst_.clear();
      }
    }
    while (!addresses_.empty() && !data_.empty()) {
      Answer();
    }
    ++now_;
  }

  uint64_t bursts_taken() const { return bursts_taken_; }
  uint64_t beats_taken() const { return beats_taken_; }
  bool idle() const {
    return responses_.empty() && addresses_.empty() && data_.empty() && burst_.empty();
  }

 private:
  struct Address {
    uint64_t address;
    uint64_t beats;
    unsigned id;
  };
  struct Beat {
    internal::BeatBytes data;
    uint64_t strobes_lo, strobes_hi;
  };
  struct Response {
    uint64_t cycle;
    unsigned id;
    uint64_t address;
    std::vector<Beat> beats;
    unsigned response;
  };

  // Schedules the response of the oldest burst, whose address and data have arrived.
  void Answer() {
    const Address& address = addresses_.front();
    const uint64_t cycle =
        times_.Book(memory_->bus(), now_, address.address, address.beats, data_bytes_);
    responses_.push_back({cycle, address.id, address.address, std::move(data_.front()), 0});
    addresses_.pop_front();
    data_.pop_front();
    ++bursts_taken_;
  }

  void Commit(Response* response) {
    uint64_t address = response->address;
    for (const Beat& beat : response->beats) {
      response->response = std::max(response->response, memory_->Response(address, data_bytes_));
      memory_->Write(address, beat.data.data(), beat.strobes_lo, beat.strobes_hi, data_bytes_);
      address += data_bytes_;
    }
  }

  AxiMemory* memory_;
  unsigned data_bytes_;
  internal::StallStream stall_aw_, stall_w_, stall_b_;
  std::deque<Address> addresses_;
  std::vector<Beat> burst_;             // beats received of the current data burst
  std::deque<std::vector<Beat>> data_;  // complete bursts whose addresses have not arrived
  std::deque<Response> responses_;
  WriteTimes times_;
  uint64_t now_ = 0;
  bool awready_ = false, wready_ = false, bvalid_ = false;
  uint64_t bursts_taken_ = 0, beats_taken_ = 0;
};

// Copies bytes into a port of any width, which Verilator stores as an integer or a VlWide.
template <typename Port>
void AxiSetData(Port* port, const uint8_t* data, size_t bytes) {
  std::memcpy(static_cast<void*>(port), data, std::min(sizeof *port, bytes));
}

}  // namespace kiln::testbench

#define KILN_AXI_DRIVE_READ(top, name, port)                                                   \
  do {                                                                                         \
    (port).Drive();                                                                            \
    (top).name##_arready = (port).arready();                                                   \
    (top).name##_rvalid = (port).rvalid();                                                     \
    if ((port).rvalid()) {                                                                     \
      ::kiln::testbench::AxiSetData(&(top).name##_rdata, (port).rdata(), (port).data_bytes()); \
      (top).name##_rresp = static_cast<unsigned char>((port).rresp() & 3);                     \
      (top).name##_rlast = (port).rlast();                                                     \
    }                                                                                          \
  } while (false)

#define KILN_AXI_DRIVE_READ_ID(top, name, port)                    \
  do {                                                             \
    KILN_AXI_DRIVE_READ(top, name, port);                          \
    if ((port).rvalid()) {                                         \
      (top).name##_rid = static_cast<unsigned char>((port).rid()); \
    }                                                              \
  } while (false)

#define KILN_AXI_SAMPLE_READ(top, name, port)                                     \
  (port).Sample((top).name##_arvalid, (top).name##_araddr, (top).name##_arlen, 0, \
                (top).name##_rready)

#define KILN_AXI_SAMPLE_READ_ID(top, name, port)                                                  \
  (port).Sample((top).name##_arvalid, (top).name##_araddr, (top).name##_arlen, (top).name##_arid, \
                (top).name##_rready)

#define KILN_AXI_DRIVE_WRITE(top, name, port)                              \
  do {                                                                     \
    (port).Drive();                                                        \
    (top).name##_awready = (port).awready();                               \
    (top).name##_wready = (port).wready();                                 \
    (top).name##_bvalid = (port).bvalid();                                 \
    if ((port).bvalid()) {                                                 \
      (top).name##_bresp = static_cast<unsigned char>((port).bresp() & 3); \
    }                                                                      \
  } while (false)

#define KILN_AXI_DRIVE_WRITE_ID(top, name, port)                   \
  do {                                                             \
    KILN_AXI_DRIVE_WRITE(top, name, port);                         \
    if ((port).bvalid()) {                                         \
      (top).name##_bid = static_cast<unsigned char>((port).bid()); \
    }                                                              \
  } while (false)

#define KILN_AXI_SAMPLE_WRITE(top, name, port)                                                     \
  (port).Sample((top).name##_awvalid, (top).name##_awaddr, (top).name##_awlen, 0,                  \
                (top).name##_wvalid, &(top).name##_wdata, &(top).name##_wstrb, (top).name##_wlast, \
                (top).name##_bready)

#define KILN_AXI_SAMPLE_WRITE_ID(top, name, port)                                                  \
  (port).Sample((top).name##_awvalid, (top).name##_awaddr, (top).name##_awlen, (top).name##_awid,  \
                (top).name##_wvalid, &(top).name##_wdata, &(top).name##_wstrb, (top).name##_wlast, \
                (top).name##_bready)

#endif  // KILN_TESTBENCH_AXI_MEMORY_H_

// A model of rtl/bus/kiln_stream_memory.sv: readers, writers and the arbiter in front of the memory
// of the testbenches (rtl/testbench/kiln_axi_memory.h), register by register. Cycle levels of
// machines with streams step it beside the machine to simulate one run of the machine behind memory
// (stream_memory.h). It has the times of the beats, not their bytes.
//
// Cycle 0 has the pulse `start`, and the model begins with cycle 1. A cycle of a run consists of
//
//   model.offers(i), model.takes(i)   the model's side of the streams: functions of registers
//   model.Clock(ready, valid)         the machine's side; ends the cycle
#ifndef KILN_HARDWARE_STREAM_MEMORY_MODEL_H_
#define KILN_HARDWARE_STREAM_MEMORY_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kiln/hardware/axi_port_model.h"
#include "kiln/hardware/stream_memory.h"

namespace kiln::hardware {

class StreamMemoryModel {
 public:
  // One run: the machine takes the beats of the first `in` streams, at least 1, and sends those of
  // the others, at least 1. No row of the memory is open. The memory does not stall at random.
  //   port_bytes   of a beat of the memory (DATA_BYTES)
  StreamMemoryModel(const AxiTiming& timing, std::span<const StreamPlace> streams, size_t in,
                    int port_bytes = kSocPortBytes);
  // The same in front of a memory that other models share, in whose cycle `start` the run starts:
  // the model's cycle 0. Within a cycle, models book in the order in which Clock is called.
  StreamMemoryModel(std::shared_ptr<MemoryBus> bus, uint64_t start,
                    std::span<const StreamPlace> streams, size_t in,
                    int port_bytes = kSocPortBytes);

  // Returns whether a beat of stream `in` into the machine is offered in this cycle.
  bool offers(size_t in) const { return readers_[in].sent_valid; }
  // Returns whether a beat of stream `out` out of the machine would be taken in this cycle.
  bool takes(size_t out) const { return writers_[out].in_ready(); }
  // Ends the cycle. Bit i of `ready` says whether the machine takes a beat of stream in number i,
  // bit i of `valid` whether it offers a beat of stream out number i.
  void Clock(uint64_t ready, uint64_t valid);

  // Returns whether beats remain to be read, sent, taken or stored.
  bool busy() const;
  // Returns the cycles in which the run went on (register CYCLES of kiln_stream_control).
  int64_t cycles() const { return cycles_; }
  // Returns whether the memory has beats or responses to give.
  bool answers() const { return !beats_.empty() || !responses_.empty(); }

 private:
  // A queue of a few items (kiln_fifo) is a std::deque here. What happens to it in a cycle is
  // decided by its size at the beginning of the cycle.
  struct Burst {
    uint64_t place = 0, beats = 0;  // place: address / port bytes
  };

  // kiln_axi_bursts.
  struct Bursts {
    uint64_t rest_place = 0, rest_beats = 0;
    std::deque<Burst> queue;

    bool ready(bool room) const { return rest_beats == 0 && queue.size() < 2 && room; }
    // Ends a cycle with a run of `beats` beats, 0: none, in which the oldest burst leaves (`pop`)
    // or not. Returns whether a burst entered the queue, and whether it is the last of its run.
    std::optional<bool> Clock(uint64_t place, uint64_t beats, bool room, bool pop,
                              uint64_t port_bytes);
  };

  // What kiln_axi_stream_reader and kiln_axi_stream_writer have in common.
  struct Stream {
    Stream(const StreamPlace& stream, uint64_t port);
    uint64_t BytesOfPart(uint64_t beats) const { return beats * beat_bytes; }

    const uint64_t port_bytes, beat_bytes, part_beats;
    uint64_t rest, next_address;  // beats that are not yet requested or taken; of the next part
    bool request_valid = false;
    uint64_t request_address = 0, request_beats = 0;  // of the stream
    uint64_t busy_beats = 0;                          // of the port
    Bursts bursts;

    // Returns the beats of the memory that the request takes.
    uint64_t memory_beats() const;
    uint64_t request_place() const { return request_address / port_bytes; }
  };

  struct Reader : Stream {
    using Stream::Stream;
    bool request_ready() const;
    void Clock(bool address_taken, bool beat_arrives, bool out_ready);
    bool busy() const { return rest != 0 || held != 0 || sent_valid; }

    struct Pending {
      uint64_t memory_beats, beats;
    };
    uint64_t held = 0;
    std::deque<Pending> pending;
    uint64_t beat = 0;  // of the oldest pending request
    bool word_valid = false, sent_valid = false;
    uint64_t word_beats = 0;
    std::deque<uint64_t> parts;  // their beats
    uint64_t sent_rest = 0;
  };

  struct Writer : Stream {
    using Stream::Stream;
    bool request_ready() const;
    bool hands_over() const { return full && (!request_valid || request_ready()); }
    bool in_ready() const { return rest != 0 && (!full || hands_over()); }
    void Clock(bool in_valid, bool address_taken, bool data_taken, bool response);
    bool busy() const { return rest != 0 || full || request_valid || outstanding != 0; }

    uint64_t place = 0;
    bool full = false;
    uint64_t collected_beats = 0;
    uint64_t beat_place = 0;   // of the next beat of the request that is being written
    std::deque<bool> data;     // whether a beat is the last of its burst
    std::deque<bool> pending;  // whether a burst is the last of its request
    bool done = false;
    uint64_t outstanding = 0;
  };

  // A round robin (kiln_round_robin) over all streams.
  template <typename Requests>
  std::optional<size_t> Grant(size_t last, const Requests& requests) const;
  void Answer();

  struct Granted {
    size_t stream;  // number among all streams
    Burst burst;
  };
  struct Timed {
    uint64_t cycle;
    size_t stream;
  };

  const uint64_t port_bytes_;
  std::vector<Reader> readers_;
  std::vector<Writer> writers_;
  // kiln_axi_arbiter.
  size_t last_read_, last_write_;
  std::deque<Granted> read_queue_, write_queue_;
  std::deque<size_t> order_;
  std::deque<bool> data_queue_;  // whether a beat is the last of its burst
  // The memory.
  const std::shared_ptr<MemoryBus> bus_;
  testbench::ReadTimes read_times_;
  testbench::WriteTimes write_times_;
  std::deque<Timed> beats_, responses_;
  std::deque<Granted> addresses_;  // of writes that wait for their data
  size_t complete_ = 0;            // bursts of data that wait for their response
  uint64_t now_;
  int64_t cycles_ = 0;
};

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_STREAM_MEMORY_MODEL_H_

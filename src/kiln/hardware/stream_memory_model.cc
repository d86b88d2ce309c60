// The registers of readers, writers and arbiter from clock to clock, in the order and with the
// names of the SystemVerilog.

#include "kiln/hardware/stream_memory_model.h"

#include <algorithm>
#include <utility>

#include "kiln/hardware/axi_port.h"
#include "kiln/support/check.h"

namespace kiln::hardware {
namespace {

constexpr uint64_t kParts = 8;            // PARTS of readers, OUTSTANDING of writers
constexpr size_t kArbiterBursts = 8;      // WRITE_BURSTS
constexpr uint64_t kPartMemoryBeats = 4;  // of a part, if a beat of the stream is not larger

}  // namespace

std::optional<bool> StreamMemoryModel::Bursts::Clock(uint64_t place, uint64_t beats, bool room,
                                                     bool pop, uint64_t port_bytes) {
  const bool pushes = (rest_beats > 0 || beats > 0) && queue.size() < 2 && room;
  if (pop) queue.pop_front();
  if (!pushes) return std::nullopt;
  if (rest_beats == 0) {
    rest_place = place;
    rest_beats = beats;
  }
  const uint64_t burst = BeatsOfBurst(rest_place, rest_beats, port_bytes);
  queue.push_back({rest_place, burst});
  rest_place += burst;
  rest_beats -= burst;
  return rest_beats == 0;
}

StreamMemoryModel::Stream::Stream(const StreamPlace& stream, uint64_t port)
    : port_bytes(port),
      beat_bytes(static_cast<uint64_t>(stream.beat_bytes)),
      part_beats(std::max<uint64_t>(kPartMemoryBeats * port / beat_bytes, 1)),
      rest(stream.beats),
      next_address(stream.address) {}

uint64_t StreamMemoryModel::Stream::memory_beats() const {
  return static_cast<uint64_t>(BeatsOf(request_address,
                                       static_cast<int64_t>(BytesOfPart(request_beats)),
                                       static_cast<int64_t>(port_bytes)));
}

bool StreamMemoryModel::Reader::request_ready() const {
  return busy_beats == 0 && bursts.ready(true) && pending.size() < kParts;
}

void StreamMemoryModel::Reader::Clock(bool address_taken, bool beat_arrives, bool out_ready) {
  const bool ready = request_ready(), taken = request_valid && ready;
  const bool makes = rest != 0 && held != kParts && (!request_valid || ready);
  const bool last_leaves = sent_valid && out_ready && sent_rest == 0;
  const bool part_leaves = !parts.empty() && (!sent_valid || last_leaves);
  if (part_leaves) {
    sent_rest = parts.front() - 1;
    parts.pop_front();
  } else if (sent_valid && out_ready) {
    --sent_rest;
  }
  sent_valid = part_leaves || (sent_valid && !last_leaves);
  if (word_valid) parts.push_back(word_beats);
  word_valid = false;
  if (beat_arrives && ++beat == pending.front().memory_beats) {
    word_valid = true;
    word_beats = pending.front().beats;
    pending.pop_front();
    beat = 0;
  }
  const uint64_t beats = taken ? memory_beats() : 0;
  bursts.Clock(request_place(), beats, true, address_taken, port_bytes);
  if (taken) {
    pending.push_back({beats, request_beats});
    busy_beats = beats - 1;
  } else if (busy_beats > 0) {
    --busy_beats;
  }
  request_valid = makes || (request_valid && !ready);
  if (makes) {
    request_address = next_address;
    request_beats = std::min(rest, part_beats);
    rest -= request_beats;
    next_address += BytesOfPart(part_beats);
    ++held;
  }
  if (part_leaves) --held;
}

bool StreamMemoryModel::Writer::request_ready() const {
  return busy_beats == 0 && bursts.ready(pending.size() < kParts) && data.size() < 2;
}

void StreamMemoryModel::Writer::Clock(bool in_valid, bool address_taken, bool data_taken,
                                      bool response) {
  const bool ready = request_ready(), request_taken = request_valid && ready;
  const bool takes = in_valid && in_ready(), hands = hands_over();
  const bool ends_part = place == part_beats - 1 || rest == 1;
  const bool room = pending.size() < kParts, data_ready = data.size() < 2;
  // The write port: a request's first beat is pushed as it is taken.
  const uint64_t beats = request_taken ? memory_beats() : 0;
  const bool first = busy_beats == 0;
  if (request_taken) beat_place = request_place();
  if (request_taken) ++outstanding;
  if (done) --outstanding;
  done = response && pending.front();
  if (response) pending.pop_front();
  if (const auto pushed = bursts.Clock(request_place(), beats, room, address_taken, port_bytes))
    pending.push_back(*pushed);
  if (data_taken) data.pop_front();
  if (first ? request_taken : data_ready) {
    busy_beats = first ? beats - 1 : busy_beats - 1;
    const uint64_t page = BeatsOfBurst(0, ~uint64_t{0}, port_bytes);
    data.push_back(busy_beats == 0 || ++beat_place % page == 0);
  }
  // The part that is written, and the one that is collected.
  request_valid = hands || (request_valid && !ready);
  if (hands) {
    request_address = next_address;
    request_beats = collected_beats;
    next_address += BytesOfPart(part_beats);
  }
  full = (takes && ends_part) || (full && !hands);
  if (takes) {
    if (ends_part) collected_beats = place + 1;
    place = ends_part ? 0 : place + 1;
    --rest;
  }
}

StreamMemoryModel::StreamMemoryModel(const AxiTiming& timing, std::span<const StreamPlace> streams,
                                     size_t in, int port_bytes)
    : StreamMemoryModel(std::make_shared<MemoryBus>(timing), 0, streams, in, port_bytes) {}

StreamMemoryModel::StreamMemoryModel(std::shared_ptr<MemoryBus> bus, uint64_t start,
                                     std::span<const StreamPlace> streams, size_t in,
                                     int port_bytes)
    : port_bytes_(static_cast<uint64_t>(port_bytes)),
      last_read_(streams.size() - 1),
      last_write_(last_read_),
      bus_(std::move(bus)),
      now_(start + 1) {
  KILN_CHECK(in > 0 && in < streams.size() && streams.size() <= 64);
  for (const StreamPlace& stream : streams.first(in)) readers_.emplace_back(stream, port_bytes_);
  for (const StreamPlace& stream : streams.subspan(in)) writers_.emplace_back(stream, port_bytes_);
}

bool StreamMemoryModel::busy() const {
  return std::ranges::any_of(readers_, &Reader::busy) ||
         std::ranges::any_of(writers_, &Writer::busy);
}

template <typename Requests>
std::optional<size_t> StreamMemoryModel::Grant(size_t last, const Requests& requests) const {
  const size_t streams = readers_.size() + writers_.size();
  for (size_t i = 1; i <= streams; ++i) {
    const size_t stream = (last + i) % streams;
    if (requests(stream)) return stream;
  }
  return std::nullopt;
}

// Books the bursts of writes whose addresses and data have arrived.
void StreamMemoryModel::Answer() {
  while (!addresses_.empty() && complete_ > 0) {
    const auto& [stream, burst] = addresses_.front();
    responses_.push_back(
        {write_times_.Book(*bus_, now_, burst.place * port_bytes_, burst.beats, port_bytes_),
         stream});
    addresses_.pop_front();
    --complete_;
  }
}

void StreamMemoryModel::Clock(uint64_t ready, uint64_t valid) {
  if (busy()) ++cycles_;
  const size_t first_writer = readers_.size();
  // What the memory offers, and what the arbiter grants in this cycle.
  const auto offered = [this](std::deque<Timed>& queue) -> std::optional<size_t> {
    if (queue.empty() || queue.front().cycle > now_) return std::nullopt;
    const size_t stream = queue.front().stream;
    queue.pop_front();
    return stream;
  };
  const std::optional<size_t> beat = offered(beats_), response = offered(responses_);
  std::optional<size_t> read, write, data;
  if (read_queue_.size() < 2) {
    read = Grant(last_read_, [&](size_t stream) {
      return stream < first_writer && !readers_[stream].bursts.queue.empty();
    });
  }
  if (write_queue_.size() < 2 && order_.size() < kArbiterBursts) {
    write = Grant(last_write_, [&](size_t stream) {
      return stream >= first_writer && !writers_[stream - first_writer].bursts.queue.empty();
    });
  }
  if (!order_.empty() && data_queue_.size() < 2 && !writers_[order_.front()].data.empty())
    data = order_.front();

  // The memory accepts addresses and data at once.
  if (!read_queue_.empty()) {
    const auto [stream, burst] = read_queue_.front();
    read_queue_.pop_front();
    read_times_.Book(*bus_, now_, burst.place * port_bytes_, burst.beats, port_bytes_,
                     [&](uint64_t cycle) { beats_.push_back({cycle, stream}); });
  }
  if (!write_queue_.empty()) {
    addresses_.push_back(write_queue_.front());
    write_queue_.pop_front();
  }
  if (!data_queue_.empty()) {
    complete_ += data_queue_.front() ? 1 : 0;
    data_queue_.pop_front();
  }
  Answer();

  // The arbiter's queues.
  if (read.has_value()) {
    read_queue_.push_back({*read, readers_[*read].bursts.queue.front()});
    last_read_ = *read;
  }
  if (data.has_value()) {
    const bool last = writers_[*data].data.front();
    data_queue_.push_back(last);
    if (last) order_.pop_front();
  }
  if (write.has_value()) {
    const size_t writer = *write - first_writer;
    write_queue_.push_back({*write, writers_[writer].bursts.queue.front()});
    order_.push_back(writer);
    last_write_ = *write;
  }

  for (size_t i = 0; i < readers_.size(); ++i)
    readers_[i].Clock(read == i, beat == i, (ready >> i & 1) != 0);
  for (size_t i = 0; i < writers_.size(); ++i) {
    const size_t stream = first_writer + i;
    writers_[i].Clock((valid >> i & 1) != 0, write == stream, data == i, response == stream);
  }
  ++now_;
}

}  // namespace kiln::hardware

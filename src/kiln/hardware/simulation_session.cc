// The client of the session protocol: sends requests to a simulation and checks its answers.

#include "kiln/hardware/simulation_session.h"

#include <array>
#include <type_traits>

#include "fmt/format.h"

namespace kiln::hardware {
namespace {

constexpr uint64_t kProtocol = 0x314d49534e4c494b;  // "KILNSIM1"
constexpr uint64_t kNoLimit = uint64_t{1} << 40;
constexpr uint64_t kRefusalBytes = 4096;

enum Command : uint64_t { kMap = 1, kWrite, kRun, kRead, kCounters, kEvents, kRecord };

// Returns the bytes of a list's values.
template <typename List>
auto BytesOf(List& list) {
  using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(list.data())>>,
                                  const uint8_t, uint8_t>;
  return std::span(reinterpret_cast<Byte*>(list.data()), list.size() * sizeof list[0]);
}

}  // namespace

StatusOr<SimulationSession> SimulationSession::Start(const std::filesystem::path& program,
                                                     const std::vector<std::string>& options) {
  std::vector<std::string> arguments = {program.string(), "--serve"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  KILN_ASSIGN_OR_RETURN(TemporaryFolder folder, TemporaryFolder::Create("kiln-session"));
  KILN_ASSIGN_OR_RETURN(ChildProcess process,
                        ChildProcess::Start(arguments, folder.path() / "simulate.log"));
  SimulationSession session(std::move(folder), program.string(), std::move(process));
  std::array<uint64_t, 1> protocol;
  KILN_RETURN_IF_ERROR(session.process_.Receive(BytesOf(protocol)));
  if (protocol[0] != kProtocol) {
    return session.Wrong(
        fmt::format("it begins with {:016x} instead of {:016x}", protocol[0], kProtocol));
  }
  return session;
}

Status SimulationSession::Keep(Status status) {
  if (broken_.ok()) broken_ = status;
  return status;
}

Status SimulationSession::Wrong(const std::string& what) {
  return Keep(absl::InternalError(
      fmt::format("{}: does not follow the protocol of simulations: {}", name_, what)));
}

Status SimulationSession::Send(uint64_t command, std::span<const uint64_t> numbers,
                               std::span<const uint8_t> bytes) {
  KILN_RETURN_IF_ERROR(broken_);
  const std::array<uint64_t, 2> head = {command, numbers.size_bytes() + bytes.size()};
  for (const auto part : {std::span<const uint8_t>(BytesOf(head)),
                          std::span<const uint8_t>(BytesOf(numbers)), bytes}) {
    KILN_RETURN_IF_ERROR(Keep(process_.Send(part)));
  }
  return OkStatus();
}

StatusOr<uint64_t> SimulationSession::Head(uint64_t most) {
  std::array<uint64_t, 2> head;
  KILN_RETURN_IF_ERROR(Keep(process_.Receive(BytesOf(head))));
  const auto [refused, length] = head;
  if (refused > 1) return Wrong(fmt::format("an answer begins with {}", refused));
  const uint64_t budget = refused == 1 ? kRefusalBytes : most;
  if (length > budget) {
    return Wrong(fmt::format("an answer of {} bytes where {} are the most", length, budget));
  }
  if (refused == 0) return length;
  std::string reason(length, '\0');
  KILN_RETURN_IF_ERROR(Keep(process_.Receive(BytesOf(reason))));
  return Keep(absl::InternalError(fmt::format("{}: {}", name_, reason)));
}

Status SimulationSession::Answer(std::span<uint8_t> bytes) {
  KILN_ASSIGN_OR_RETURN(const uint64_t length, Head(bytes.size()));
  if (length != bytes.size()) {
    return Wrong(fmt::format("an answer of {} bytes in place of {}", length, bytes.size()));
  }
  return Keep(process_.Receive(bytes));
}

Status SimulationSession::Map(std::span<const Range> ranges) {
  std::vector<uint64_t> numbers;
  for (const Range& range : ranges) numbers.insert(numbers.end(), {range.begin, range.end});
  KILN_RETURN_IF_ERROR(Send(kMap, numbers));
  return Answer({});
}

Status SimulationSession::Write(uint64_t address, std::span<const uint8_t> bytes) {
  KILN_RETURN_IF_ERROR(Send(kWrite, std::span(&address, 1), bytes));
  return Answer({});
}

Status SimulationSession::Read(uint64_t address, std::span<uint8_t> bytes) {
  KILN_RETURN_IF_ERROR(Send(kRead, std::array<uint64_t, 2>{address, bytes.size()}));
  return Answer(bytes);
}

Status SimulationSession::Record(const std::filesystem::path& file, int64_t begin, int64_t end) {
  const std::string name = file.string();
  KILN_RETURN_IF_ERROR(Send(
      kRecord, std::array<uint64_t, 2>{static_cast<uint64_t>(begin), static_cast<uint64_t>(end)},
      BytesOf(name)));
  return Answer({});
}

StatusOr<SimulationSession::Outcome> SimulationSession::Run(std::span<const uint64_t> words,
                                                            uint64_t most_cycles) {
  std::vector<uint64_t> numbers = {most_cycles == 0 ? kNoLimit : most_cycles};
  numbers.insert(numbers.end(), words.begin(), words.end());
  KILN_RETURN_IF_ERROR(Send(kRun, numbers));
  std::array<uint64_t, 4> answer;
  KILN_RETURN_IF_ERROR(Answer(BytesOf(answer)));
  if (answer[0] > 1) return Wrong(fmt::format("a run has ended {} times", answer[0]));
  return Outcome{answer[0] == 1, answer[1], answer[2], answer[3]};
}

StatusOr<std::vector<uint64_t>> SimulationSession::Counters(size_t count) {
  KILN_RETURN_IF_ERROR(Send(kCounters, {}));
  std::vector<uint64_t> counters(count);
  KILN_RETURN_IF_ERROR(Answer(BytesOf(counters)));
  return counters;
}

StatusOr<std::vector<std::vector<int64_t>>> SimulationSession::Events(size_t lists, size_t most) {
  KILN_RETURN_IF_ERROR(Send(kEvents, {}));
  constexpr size_t kWord = sizeof(uint64_t);
  KILN_ASSIGN_OR_RETURN(const uint64_t length, Head((lists + most) * kWord));
  std::vector<int64_t> words(length / kWord);
  if (length % kWord != 0) return Wrong(fmt::format("events of {} bytes", length));
  KILN_RETURN_IF_ERROR(Keep(process_.Receive(BytesOf(words))));
  std::vector<std::vector<int64_t>> events(lists);
  size_t at = 0;
  for (std::vector<int64_t>& cycles : events) {
    const size_t left = words.size() - at;
    const auto size = left == 0 ? 0 : static_cast<uint64_t>(words[at]);
    if (left == 0 || size > left - 1) return Wrong("a list of events is cut off");
    const auto begin = words.begin() + static_cast<std::ptrdiff_t>(at + 1);
    cycles.assign(begin, begin + static_cast<std::ptrdiff_t>(size));
    at += 1 + size;
  }
  if (at != words.size()) return Wrong("more lists of events than were asked for");
  return events;
}

}  // namespace kiln::hardware

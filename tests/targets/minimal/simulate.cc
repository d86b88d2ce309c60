// One kernel of the minimal family at the functional and the cycle level, and its hardware.
#include <algorithm>
#include <array>
#include <cstring>

#include "fmt/format.h"
#include "kiln/support/file.h"
#include "tests/targets/minimal/minimal.h"

namespace kiln::minimal {

std::vector<int8_t> Compute(const Instruction& in, std::span<const int8_t> a,
                            std::span<const int8_t> b) {
  std::vector<int8_t> codes;
  for (size_t i = 0; i < a.size(); ++i) {
    const int64_t x = a[i] - in.za, y = b[i] - in.zb;
    const int64_t sum = in.multiply ? x * y * in.ma + in.c : x * in.ma + y * in.mb + in.c;
    codes.push_back(static_cast<int8_t>(std::clamp<int64_t>(sum >> in.shift, -128, 127)));
  }
  return codes;
}

std::vector<uint8_t> BeatsOf(const Config& config, const Instruction& in, std::span<const int8_t> a,
                             std::span<const int8_t> b) {
  const auto lanes = static_cast<size_t>(config.lanes);
  const auto count = static_cast<uint64_t>(config.BeatsOf(std::ssize(a)));
  std::vector<uint8_t> beats((2 + count) * 2 * lanes, 0);
  const uint64_t headers[] = {uint64_t{static_cast<uint16_t>(in.ma)} |
                                  uint64_t{static_cast<uint16_t>(in.mb)} << 16 |
                                  uint64_t{static_cast<uint32_t>(in.c)} << 32,
                              uint64_t{in.multiply} | static_cast<uint64_t>(in.shift) << 8 |
                                  count << 16 | uint64_t{static_cast<uint8_t>(in.za)} << 48 |
                                  uint64_t{static_cast<uint8_t>(in.zb)} << 56};
  std::memcpy(&beats[0], &headers[0], 8);
  std::memcpy(&beats[2 * lanes], &headers[1], 8);
  for (size_t i = 0; i < a.size(); ++i) {
    const size_t at = (2 + i / lanes) * 2 * lanes + i % lanes;
    beats[at] = static_cast<uint8_t>(a[i]);
    beats[at + lanes] = static_cast<uint8_t>(b[i]);
  }
  return beats;
}

std::vector<uint8_t> Simulate(const Config& config, std::span<const uint8_t> beats,
                              int64_t* cycles) {
  struct Stage {
    bool valid = false;
    std::array<int64_t, 16> x{}, y{};
  };
  const auto lanes = static_cast<size_t>(config.lanes);
  uint64_t header[2] = {};
  Stage products, sums, out;
  std::vector<uint8_t> result;
  const size_t in_beats = beats.size() / (2 * lanes);
  for (*cycles = 0; result.size() < (in_beats - 2) * lanes; ++*cycles) {
    // The last stage first, so that each takes what the stage before it held in the last cycle.
    for (size_t i = 0; i < lanes && out.valid; ++i)
      result.push_back(static_cast<uint8_t>(out.x[i]));
    const bool multiply = (header[1] & 1) != 0;
    const auto ma = static_cast<int16_t>(header[0]), mb = static_cast<int16_t>(header[0] >> 16);
    const auto c = static_cast<int32_t>(header[0] >> 32);
    out.valid = sums.valid;
    sums.valid = products.valid;
    for (size_t i = 0; i < lanes; ++i) {
      out.x[i] = std::clamp<int64_t>(sums.x[i] >> (header[1] >> 8 & 31), -128, 127);
      sums.x[i] = products.x[i] * (multiply ? ma : 1) + products.y[i] + c;
    }
    const auto beat = static_cast<size_t>(*cycles);
    products.valid = beat >= 2 && beat < in_beats;
    if (beat < 2) std::memcpy(&header[beat], &beats[beat * 2 * lanes], 8);
    for (size_t i = 0; i < lanes && products.valid; ++i) {
      const uint8_t* const at = &beats[beat * 2 * lanes + i];
      const int64_t a = static_cast<int8_t>(at[0]) - static_cast<int8_t>(header[1] >> 48);
      const int64_t b = static_cast<int8_t>(at[lanes]) - static_cast<int8_t>(header[1] >> 56);
      products.x[i] = multiply ? a * b : a * ma;
      products.y[i] = multiply ? 0 : b * mb;
    }
  }
  return result;
}

StatusOr<hardware::RtlProject> ProjectOf(const MinimalProgram& program) {
  const Config& config = program.config;
  hardware::RtlProject project;
  KILN_ASSIGN_OR_RETURN(project.top_text, ReadFile("tests/targets/minimal/kiln_minimal.sv"));
  SetStreamTop("kiln_minimal", {{"LANES", fmt::format("{}", config.lanes)}}, config.in_bytes(),
               config.lanes, &project);
  project.others.emplace_back("design.yaml", Keys().Print(config));
  project.others.emplace_back("program.txt", program.Print());
  const auto beats = BeatsOf(config, {}, std::vector<int8_t>{0}, std::vector<int8_t>{0});
  project.others.emplace_back("example.bin", std::string(beats.begin(), beats.end()));
  project.simulation_arguments = "--memory example.bin --beats 1";
  return project;
}

}  // namespace kiln::minimal

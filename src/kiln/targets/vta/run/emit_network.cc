// Describes the feature maps at the border of the machine's memory, and records a run.

#include "kiln/targets/vta/run/emit_network.h"

#include <array>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "kiln/hardware/rtl_project.h"
#include "kiln/hardware/sample_run.h"
#include "kiln/support/markdown.h"
#include "kiln/targets/interface/folder_guide.h"
#include "kiln/targets/vta/config/derived.h"
#include "kiln/targets/vta/emit/driver.h"
#include "kiln/targets/vta/emit/emit.h"
#include "kiln/targets/vta/isa/registers.h"
#include "kiln/targets/vta/run/network_run.h"
#include "kiln/targets/vta/runtime/device.h"

namespace kiln::vta {
namespace {

// Returns where the codes of the first image of a map are. Sums have an axis for their four bytes,
// which are in planes of their own.
hardware::PlacedTensor PlaceOf(const ProgramParts& program, int index) {
  const Config& c = program.config;
  const FeatureMap& map = program.maps[static_cast<size_t>(index)];
  const int64_t element = 8 * c.output_element_bytes(), row = element * map.pitch(),
                block = row * map.rows(), plane = block * map.Blocks(c);
  const auto origin = static_cast<uint64_t>(map.ElementAt(0, 0, 0, c) * c.output_element_bytes());
  hardware::PlacedTensor place = {
      .name = map.name,
      .base = program.map_addresses[static_cast<size_t>(index)] + origin,
      .bits = 8,
      .is_signed = !map.wide,
      .axes = {},
      .format = map.wide ? "int32 in four planes of bytes" : "int8"};
  if (map.image.has_value()) {
    place.axes.push_back({"pixel",
                          {{std::min<int64_t>(c.batch, map.image->height * map.image->width),
                            int64_t{8} * c.block_out},
                           {map.width, element}}});
  } else {
    place.axes.push_back({"y", {{map.height, row}}});
    place.axes.push_back({"x", {{map.width, element}}});
  }
  if (map.channels <= c.block_out) {
    place.axes.push_back({"channel", {{map.channels, 8}}});
  } else if (map.channels % c.block_out == 0) {
    place.axes.push_back({"channel", {{c.block_out, 8}, {map.channels / c.block_out, block}}});
  } else {
    // The channels behind the last one complete a block.
    place.axes.push_back({"channel", {{c.block_out, 8}, {map.Blocks(c), block}}});
    place.format += fmt::format(" ({} channels, the others complete a block)", map.channels);
  }
  if (map.wide) {
    place.axes.push_back({"byte", {{4, plane}}});
    place.meaning = "value = scale of the channel * sum; `driver/kiln_tensors.h` has the scales";
    place.scales = map.scales;
  } else {
    place.meaning = fmt::format("{}, codes {} to {}", CodeMeaning(map.codes.scale, map.codes.zero),
                                map.codes.low, map.codes.high);
    place.scales = {map.codes.scale};
    place.zero_point = map.codes.zero;
  }
  return place;
}

// Returns in words from which host tensor the host writes a map, and in which order.
std::string SourceOf(const ProgramParts& program, const Transfer& transfer) {
  const FeatureMap& map = program.maps[static_cast<size_t>(transfer.map)];
  const ImageView& image = transfer.image;
  std::string text =
      fmt::format("; it holds the tensor `{}`, y {}, x {}, channel {}",
                  hardware::SampleName(program.slots[static_cast<size_t>(transfer.slot)].name),
                  image.height, image.width, image.channels);
  if (!transfer.patch.has_value()) return text;
  const Patch& p = *transfer.patch;
  // "2 y - 4 + ky"
  const auto at = [](const char* pixel, const char* tap, int64_t stride, int64_t before,
                     int64_t dilation) {
    const auto times = [](int64_t factor, const char* name) {
      return factor == 1 ? std::string(name) : fmt::format("{} {}", factor, name);
    };
    return times(stride, pixel) + (before == 0 ? "" : fmt::format(" - {}", before)) + " + " +
           times(dilation, tap);
  };
  return text + fmt::format(
                    " in windows of {} x {}: channel ({} ky + kx) * {} + c of the map at (y, x) is "
                    "channel c of the tensor at ({}, {}), or code {} outside of it",
                    p.kernel_y, p.kernel_x, p.kernel_x, image.channels,
                    at("y", "ky", p.stride_y, p.top, p.dilation_y),
                    at("x", "kx", p.stride_x, p.left, p.dilation_x), map.codes.zero);
}

// Runs the batch at the functional level and records transfers and launches.
StatusOr<hardware::SampleRun> RecordSample(const ProgramParts& program, const Batch& batch) {
  hardware::SampleRun sample;
  if (batch.inputs.empty()) return sample;
  const std::shared_ptr<Device> device = MakeFunctionalDevice(program.config);
  KILN_RETURN_IF_ERROR(LoadProgram(program, device.get()));
  const auto bytes_at = [&](uint64_t address, int64_t bytes) {
    return std::span<const uint8_t>(device->HostPointer(address), static_cast<size_t>(bytes));
  };
  NetworkRun run(program, device, 1, [&](const Piece& piece, bool begins) {
    if (begins) return;
    if (piece.kind == Piece::Kind::kLaunch) {
      const Launch& launch = *program.steps[piece.step].launch;
      sample.Run(std::array{launch.address, uint64_t{launch.instructions.size()}});
      return;
    }
    if (piece.kind != Piece::Kind::kWrite && piece.kind != Piece::Kind::kRead) return;
    const int map = TransferOf(program, piece).map;
    const uint64_t address = program.map_addresses[static_cast<size_t>(map)];
    if (piece.kind == Piece::Kind::kWrite) {
      sample.Write(address,
                   bytes_at(address, program.maps[static_cast<size_t>(map)].bytes(program.config)));
      return;
    }
    const hardware::PlacedTensor place = PlaceOf(program, map);
    sample.Expect(place, bytes_at(place.base, place.bytes()));
  });
  KILN_RETURN_IF_ERROR(RunImage(program, batch, &run));
  return sample;
}

std::string StartOf(const ProgramParts& program, const ProgramVector& vector) {
  const hardware::RegisterMap map = Registers();
  const auto at = [&](const char* name) { return hardware::FindRegister(map, name).address; };
  std::vector<std::string> faults;
  for (const hardware::RegisterValue& fault : hardware::FindRegister(map, "FAULT").values)
    faults.push_back(fmt::format("{} {}", fault.value, fault.name));
  std::string text = fmt::format(
      "1. Reset the machine. Load `memory.bin` into memory, its first byte at address 0x{:x}. The "
      "{} bytes from there on belong to the machine, up to address 0x{:x}; addresses are the "
      "machine's, and `MEMORY_BASE` places them in a system.\n"
      "2. Write the inputs. The host's kernels and transfers between launches are in "
      "`program.txt`.\n"
      "3. For each launch below, write the number of its instructions to INSTRUCTIONS (0x{:02x}) "
      "and the address of the first one to PROGRAM_ADDRESS (0x{:02x}), then 1 to CONTROL "
      "(0x{:02x}), over `control`. Wait for `irq`, which a 0 written to CONTROL lowers, or until "
      "bit 1 of CONTROL is 1. FAULT (0x{:02x}) is 0, or one of {}.\n4. Read the outputs.\n\n"
      "The launches, with the host's kernels between them:\n\n",
      vector.base, vector.before.size(), vector.base + vector.before.size() - 1, at("INSTRUCTIONS"),
      at("PROGRAM_ADDRESS"), at("CONTROL"), at("FAULT"), fmt::join(faults, ", "));
  int number = 0;
  for (size_t step = 0; step < program.steps.size(); ++step) {
    if (!program.steps[step].launch.has_value()) {
      text += MarkdownItem(
          fmt::format("`{}` on the host.", hardware::SampleName(program.kernels[step].name)));
      continue;
    }
    const Launch& launch = *program.steps[step].launch;
    text += MarkdownItem(fmt::format("launch {}, `{}`: {} instructions from 0x{:x}.", number++,
                                     hardware::SampleName(program.kernels[step].name),
                                     launch.instructions.size(), launch.address));
  }
  text.pop_back();
  return text;
}

// Adds what software needs to start the launches.
void AddConstants(const ProgramParts& program, const ProgramVector& vector,
                  hardware::DesignGuide* guide) {
  const bool one = vector.launches.size() == 1;
  for (size_t i = 0; i < vector.launches.size(); ++i) {
    const std::string name = one ? "PROGRAM" : fmt::format("PROGRAM_{}", i);
    guide->constants.emplace_back(name + "_ADDRESS", vector.launches[i].address);
    guide->constants.emplace_back(name + "_INSTRUCTIONS", vector.launches[i].instructions);
  }
  guide->constants.emplace_back("MEMORY_IMAGE_ADDRESS", vector.base);
  guide->constants.emplace_back("MEMORY_BYTES", vector.base + vector.before.size());
  if (program.images_at_once > 1) {
    guide->constants.emplace_back("BATCH_IMAGES", program.images_at_once);
    guide->constants.emplace_back("BATCH_STRIDE", program.config.block_out);
  }
}

}  // namespace

Status EmitNetwork(const VtaProgram& program, const FolderContent& content,
                   const std::filesystem::path& folder) {
  const ProgramParts& parts = program.parts();
  const ProgramVector vector = LaunchesOf(program);
  hardware::RtlProject project = ProjectOf(vector);
  KILN_ASSIGN_OR_RETURN(const hardware::SampleRun sample, RecordSample(parts, content.sample));
  AddSample(sample, fmt::format("--memory memory.bin --base {}", vector.base), &project);
  AddDriverTo(vector, sample, &project);
  project.others.emplace_back("program.txt", program.Print());
  hardware::DesignGuide& guide =
      project.guide.emplace(GuideOf("vta", parts.config.name, content, program));
  guide.start = StartOf(parts, vector);
  guide.layout =
      "The lists name every map that the host writes or reads between launches. Planes, "
      "blocks, rows and\nelements follow the original VTA. The bytes of a map count from its first "
      "element to its last one. The sample writes whole maps: bytes that no element has, of "
      "borders and of channels that complete a block, are as `memory.bin` has them. Write them "
      "so before every run, because other maps may have their place.";
  if (parts.images_at_once > 1) {
    guide.layout += fmt::format(
        " A run works on {} images at once: the lists say where the first one is, and the others "
        "follow it {} bytes apart, at the same strides. The sample has one image, and zeros for "
        "the others.",
        parts.images_at_once, parts.config.block_out);
  }
  AddConstants(parts, vector, &guide);
  guide.bus_requests = fmt::format(
      "The machine has at most {0} requests to read and {0} bursts to write in flight "
      "(`memory_latency` + 2).",
      OutstandingRequests(parts.config.memory_latency));
  std::set<int> written, read;
  for (const Piece& piece : parts.plan.pieces) {
    const bool writes = piece.kind == Piece::Kind::kWrite;
    if (!writes && piece.kind != Piece::Kind::kRead) continue;
    const Transfer& transfer = TransferOf(parts, piece);
    if (!(writes ? written : read).insert(transfer.map).second) continue;
    hardware::PlacedTensor place = PlaceOf(parts, transfer.map);
    if (writes) place.meaning += SourceOf(parts, transfer);
    (writes ? guide.inputs : guide.outputs).push_back(std::move(place));
  }
  if (!sample.empty()) guide.sample = kWholeNetworkSample;
  guide.files = {{"memory.bin", "instructions, micro-ops and constants, and zeros for the maps"}};
  return hardware::WriteRtlProject(project, folder);
}

}  // namespace kiln::vta

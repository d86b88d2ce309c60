// Executes the pieces of a compiled network: copies between host tensors and feature maps, launches
// on the device, and host operators.

#include "kiln/targets/vta/run/network_run.h"

#include <string>

#include "fmt/format.h"
#include "kiln/support/check.h"
#include "kiln/support/tasks.h"
#include "kiln/targets/run/host_graph.h"
#include "kiln/targets/run/merge_trace.h"
#include "kiln/targets/vta/isa/launch_trace.h"
#include "kiln/targets/vta/isa/memory_image.h"

namespace kiln::vta {
namespace {}  // namespace

Status LoadProgram(const ProgramParts& program, Device* device) {
  KILN_ASSIGN_OR_RETURN(const uint64_t address, device->Allocate(program.memory.size()));
  KILN_CHECK(address == MemoryImage::kBase);  // a new device allocates its first pages here
  return device->Write(address, program.memory);
}

void NetworkRun::Begin(const ImageGroup& group) {
  Row empty;
  empty.slots.resize(program_.slots.size());
  empty.codes.resize(program_.slots.size());
  rows_.assign(static_cast<size_t>(group.count), empty);
  bytes_.assign(program_.plan.pieces.size(), {});
  trace_ = {};
  trace_.units = IdleUnits();
}

StatusOr<Trace> NetworkRun::Run() {
  const RunPlan& plan = program_.plan;
  std::vector<Task> tasks;
  for (size_t i = 0; i < plan.pieces.size(); ++i) {
    tasks.push_back(
        {[this, i] { return Do(i); }, plan.pieces[i].after, plan.pieces[i].on_device()});
  }
  KILN_RETURN_IF_ERROR(RunTasks(tasks, plan.overlaps() ? threads_ : 1));
  LimitSpans(kMostSpans, &trace_);
  return std::move(trace_);
}

Status NetworkRun::Do(size_t index) {
  const Piece& piece = program_.plan.pieces[index];
  if (observer_) observer_(piece, true);
  Status status;
  // The second piece of a transfer takes its bytes from the only piece that it waits for.
  switch (piece.kind) {
    case Piece::Kind::kPack:
      Pack(TransferOf(program_, piece), &bytes_[index]);
      break;
    case Piece::Kind::kWrite: {
      const Transfer& transfer = TransferOf(program_, piece);
      const std::vector<uint8_t> bytes = std::move(bytes_[piece.after.front()]);
      status = device_->Write(program_.map_addresses[static_cast<size_t>(transfer.map)], bytes);
      break;
    }
    case Piece::Kind::kLaunch:
      status = Launch(piece.step);
      break;
    case Piece::Kind::kRead: {
      const auto map = static_cast<size_t>(TransferOf(program_, piece).map);
      bytes_[index].resize(static_cast<size_t>(program_.maps[map].bytes(program_.config)));
      status = device_->Read(program_.map_addresses[map], bytes_[index]);
      break;
    }
    case Piece::Kind::kUnpack: {
      const std::vector<uint8_t> bytes = std::move(bytes_[piece.after.front()]);
      Unpack(TransferOf(program_, piece), bytes);
      break;
    }
    case Piece::Kind::kOperator:
      for (int64_t row = 0; row < std::ssize(rows_) && status.ok(); ++row) {
        status = RunOperator(*program_.steps[piece.step].host, row);
      }
      break;
  }
  if (observer_) observer_(piece, false);
  return status;
}

const Transfer& TransferOf(const ProgramParts& program, const Piece& piece) {
  const std::vector<Transfer>& transfers = piece.step < program.steps.size()
                                               ? program.steps[piece.step].transfers
                                               : program.final_transfers;
  return transfers[piece.transfer];
}

void NetworkRun::Pack(const Transfer& transfer, std::vector<uint8_t>* bytes) const {
  const FeatureMap& map = program_.maps[static_cast<size_t>(transfer.map)];
  const uint64_t address = program_.map_addresses[static_cast<size_t>(transfer.map)];
  const auto initial =
      program_.memory.begin() + static_cast<std::ptrdiff_t>(address - MemoryImage::kBase);
  bytes->assign(initial, initial + static_cast<std::ptrdiff_t>(map.bytes(program_.config)));
  for (size_t row = 0; row < rows_.size(); ++row) {
    const Tensor& slot = rows_[row].slots[static_cast<size_t>(transfer.slot)];
    vta::Pack(slot.data<float>(), transfer.image, transfer.patch, map, program_.config,
              static_cast<int>(row), *bytes);
  }
}

void NetworkRun::Unpack(const Transfer& transfer, std::span<const uint8_t> bytes) {
  const FeatureMap& map = program_.maps[static_cast<size_t>(transfer.map)];
  const auto slot = static_cast<size_t>(transfer.slot);
  const Shape shape{map.image_height(), map.image_width(), map.channels};
  for (size_t row = 0; row < rows_.size(); ++row) {
    const std::vector<int32_t> codes =
        vta::Unpack(bytes, map, program_.config, static_cast<int>(row));
    rows_[row].slots[slot] = Tensor::Of<float>(shape, ValuesOf(codes, map));
    rows_[row].codes[slot] =
        map.wide ? Tensor::Of<int32_t>(shape, codes)
                 : Tensor::Of<int8_t>(shape, std::vector<int8_t>(codes.begin(), codes.end()));
  }
}

Status NetworkRun::Launch(size_t step) {
  const vta::Launch& launch = *program_.steps[step].launch;
  const Status status = device_->Run(launch.address, launch.instructions.size(), 0);
  if (!status.ok())
    return WithContext(fmt::format("layer '{}'", program_.kernels[step].name), status);
  if (const auto time = device_->last_run())
    AppendTrace(TraceOfLaunch(static_cast<int>(step), *time, device_->last_timeline()), &trace_);
  return OkStatus();
}

Status NetworkRun::RunOperator(const HostLayer& host, int64_t row) {
  const std::vector<Tensor>& slots = rows_[static_cast<size_t>(row)].slots;
  return RunHostKernel(
      *host.graph,
      [&](size_t i) {
        const HostView& view = host.inputs[i];
        return Gather(slots[static_cast<size_t>(view.slot)], view.elements);
      },
      [&](size_t i, const Tensor& computed) {
        Fill(host.outputs[i], computed, row);
        return OkStatus();
      });
}

void NetworkRun::Fill(int slot, const Tensor& tensor, int64_t row) {
  const auto at = static_cast<size_t>(slot);
  rows_[static_cast<size_t>(row)].slots[at] =
      RoundedAsAnnotated(tensor, program_.slots[at].rounding);
}

std::vector<OutputTensor> NetworkRun::Outputs(int64_t row) const {
  const auto& [slots, codes] = rows_[static_cast<size_t>(row)];
  std::vector<OutputTensor> outputs;
  for (const GraphOutput& output : program_.outputs) {
    const auto slot = static_cast<size_t>(output.view.slot);
    const Tensor values = Gather(slots[slot], output.view.elements).Reshaped(output.shape);
    outputs.push_back({values, values});
    if (!codes[slot].has_value()) continue;
    outputs.back().codes = Gather(*codes[slot], output.view.elements).Reshaped(output.shape);
  }
  return outputs;
}

Status RunImage(const ProgramParts& program, const Batch& batch, NetworkRun* run) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < batch.inputs.size(); ++i) {
    const Slot& slot = program.slots[static_cast<size_t>(program.inputs[i].slot)];
    const Tensor& given = batch.inputs[i];
    if (given.type() != slot.type || given.shape().NumElements() != slot.shape.NumElements()) {
      return ErrorAt(
          "", fmt::format("'{}'", program.inputs[i].name),
          fmt::format("the sample is {} {}", NameOf(given.type()), given.shape().ToString()),
          fmt::format("the program takes {} {}", NameOf(slot.type), slot.shape.ToString()));
    }
    inputs.push_back(given.Reshaped(slot.shape));
  }
  return kiln::RunImage(*run, inputs);
}

}  // namespace kiln::vta

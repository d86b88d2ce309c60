#include "kiln/targets/vta/network_run.h"

#include <string>

#include "fmt/format.h"
#include "kiln/execute/codes.h"
#include "kiln/support/tasks.h"
#include "kiln/targets/interface/host_graph.h"
#include "kiln/targets/vta/strided_view.h"

namespace kiln::vta {
namespace {

StridedView ViewOf(const HostView& view) { return {view.offset, view.shape, view.strides}; }

}  // namespace

Status NetworkRun::Run() {
  const RunPlan& plan = program_.plan;
  std::vector<Task> tasks;
  for (size_t i = 0; i < plan.pieces.size(); ++i) {
    tasks.push_back(
        {[this, i] { return Do(i); }, plan.pieces[i].after, plan.pieces[i].on_device()});
  }
  return RunTasks(tasks, plan.overlaps() ? threads_ : 1);
}

Status NetworkRun::Do(size_t index) {
  const Piece& piece = program_.plan.pieces[index];
  if (observer_) observer_(piece, true);
  Status status;
  // A piece of a transfer takes the bytes of the only piece that it waits for.
  switch (piece.kind) {
    case Piece::Kind::kPack:
      Pack(TransferOf(piece), &bytes_[index]);
      break;
    case Piece::Kind::kWrite: {
      const Transfer& transfer = TransferOf(piece);
      const std::vector<uint8_t> bytes = std::move(bytes_[piece.after.front()]);
      status = device_->Write(program_.map_addresses[static_cast<size_t>(transfer.map)], bytes);
      break;
    }
    case Piece::Kind::kLaunch:
      status = Launch(piece.step);
      break;
    case Piece::Kind::kRead: {
      const auto map = static_cast<size_t>(TransferOf(piece).map);
      bytes_[index].resize(static_cast<size_t>(program_.maps[map].bytes(program_.config)));
      status = device_->Read(program_.map_addresses[map], bytes_[index]);
      break;
    }
    case Piece::Kind::kUnpack: {
      const std::vector<uint8_t> bytes = std::move(bytes_[piece.after.front()]);
      Unpack(TransferOf(piece), bytes);
      break;
    }
    case Piece::Kind::kOperator:
      for (int image = 0; image < images() && status.ok(); ++image) {
        status = RunOperator(*program_.steps[piece.step].host, image);
      }
      break;
  }
  if (observer_) observer_(piece, false);
  return status;
}

const Transfer& NetworkRun::TransferOf(const Piece& piece) const {
  const std::vector<Transfer>& transfers = piece.step < program_.steps.size()
                                               ? program_.steps[piece.step].transfers
                                               : program_.final_transfers;
  return transfers[piece.transfer];
}

void NetworkRun::Pack(const Transfer& transfer, std::vector<uint8_t>* bytes) const {
  const FeatureMap& map = program_.maps[static_cast<size_t>(transfer.map)];
  const uint64_t address = program_.map_addresses[static_cast<size_t>(transfer.map)];
  const auto initial =
      program_.memory.begin() + static_cast<std::ptrdiff_t>(address - MemoryImage::kBase);
  bytes->assign(initial, initial + static_cast<std::ptrdiff_t>(map.bytes(program_.config)));
  for (int image = 0; image < images(); ++image) {
    const Tensor& slot =
        rows_[static_cast<size_t>(image)].slots[static_cast<size_t>(transfer.slot)];
    vta::Pack(slot.data<float>(), transfer.image, transfer.patch, map, program_.config, image,
              *bytes);
  }
}

void NetworkRun::Unpack(const Transfer& transfer, std::span<const uint8_t> bytes) {
  const FeatureMap& map = program_.maps[static_cast<size_t>(transfer.map)];
  const auto slot = static_cast<size_t>(transfer.slot);
  const Shape shape{map.image_height(), map.image_width(), map.channels};
  for (int image = 0; image < images(); ++image) {
    Row& row = rows_[static_cast<size_t>(image)];
    const std::vector<int32_t> codes = vta::Unpack(bytes, map, program_.config, image);
    row.slots[slot] = Tensor::Of<float>(shape, ValuesOf(codes, map));
    row.codes[slot] =
        map.wide ? Tensor::Of<int32_t>(shape, codes)
                 : Tensor::Of<int8_t>(shape, std::vector<int8_t>(codes.begin(), codes.end()));
  }
}

Status NetworkRun::Launch(size_t step) {
  const vta::Launch& launch = *program_.steps[step].launch;
  const Status status = device_->Run(launch.address, launch.instructions.size(), 0);
  if (!status.ok())
    return WithContext(fmt::format("layer '{}'", program_.kernels[step].name), status);
  if (const auto time = device_->last_run()) times_.emplace_back(static_cast<int>(step), *time);
  return OkStatus();
}

Status NetworkRun::RunOperator(const HostLayer& host, int image) {
  const Row& row = rows_[static_cast<size_t>(image)];
  std::vector<Tensor> inputs;
  for (const HostView& view : host.inputs) {
    inputs.push_back(Gather(row.slots[static_cast<size_t>(view.slot)], ViewOf(view)));
  }
  KILN_ASSIGN_OR_RETURN(const std::vector<Tensor> results, RunHostGraph(*host.graph, inputs));
  for (size_t i = 0; i < results.size(); ++i) Fill(host.outputs[i], results[i], image);
  return OkStatus();
}

void NetworkRun::Fill(int slot, const Tensor& tensor, int image) {
  const Slot& info = program_.slots[static_cast<size_t>(slot)];
  const bool rounded = info.rounding.has_value() && info.type == ElementType::kFloat32;
  rows_[static_cast<size_t>(image)].slots[static_cast<size_t>(slot)] =
      rounded ? RoundTensor(tensor, *info.rounding) : tensor;
}

std::pair<Tensor, Tensor> NetworkRun::Output(int image, size_t i) const {
  const GraphOutput& output = program_.outputs[i];
  const Row& row = rows_[static_cast<size_t>(image)];
  const auto slot = static_cast<size_t>(output.view.slot);
  const Tensor values = Gather(row.slots[slot], ViewOf(output.view)).Reshaped(output.shape);
  if (!row.codes[slot].has_value()) return {values, values};
  return {values, Gather(*row.codes[slot], ViewOf(output.view)).Reshaped(output.shape)};
}

}  // namespace kiln::vta

// A run of a compiled network on one device: executes the pieces of the program's plan
// (compile/run_plan.h) for a group of images, one image in each row of the machine's batch.
#ifndef KILN_TARGETS_VTA_RUN_NETWORK_RUN_H_
#define KILN_TARGETS_VTA_RUN_NETWORK_RUN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kiln/ir/tensor.h"
#include "kiln/support/status.h"
#include "kiln/targets/interface/trace.h"
#include "kiln/targets/run/run_program.h"
#include "kiln/targets/vta/compile/program.h"
#include "kiln/targets/vta/runtime/device.h"

namespace kiln::vta {

// Called when a piece of the plan begins and when it ends, by the thread that executes it.
using PieceObserver = std::function<void(const Piece& piece, bool begins)>;

// A device with a loaded program, which runs groups of images.
class NetworkRun final : public ImageMachine {
 public:
  // `device` holds the program in its memory (LoadProgram). The run uses `threads` threads; if
  // there are several, one of them works with the device. The program outlives the run.
  NetworkRun(const ProgramParts& program, std::shared_ptr<Device> device, int threads,
             PieceObserver observer)
      : program_(program),
        device_(std::move(device)),
        threads_(threads),
        observer_(std::move(observer)) {}

  // Starts a group. Rows 0, 1, ... of the machine's batch hold the group's images.
  void Begin(const ImageGroup& group) override;
  Status Load(int64_t row, size_t input, const Tensor& tensor) override {
    Fill(program_.inputs[input].slot, tensor, row);
    return OkStatus();
  }
  // Runs the plan's pieces and returns the trace of the launches. Errors: those of launches, with
  // the layer's name, and those of host operators. If several pieces fail, returns the error of the
  // first one in the plan.
  StatusOr<Trace> Run() override;
  std::vector<OutputTensor> Outputs(int64_t row) const override;

 private:
  // The host tensors of one image. Different pieces of the plan write different host tensors, so
  // they need no lock.
  struct Row {
    std::vector<Tensor> slots;                 // values
    std::vector<std::optional<Tensor>> codes;  // only of tensors that were read from the machine
  };

  Status Do(size_t index);
  void Pack(const Transfer& transfer, std::vector<uint8_t>* bytes) const;
  void Unpack(const Transfer& transfer, std::span<const uint8_t> bytes);
  Status Launch(size_t step);
  Status RunOperator(const HostLayer& host, int64_t row);
  // Stores a tensor that the host has computed or was given, rounded as its slot says.
  void Fill(int slot, const Tensor& tensor, int64_t row);

  const ProgramParts& program_;
  const std::shared_ptr<Device> device_;
  const int threads_;
  const PieceObserver observer_;
  std::vector<Row> rows_;
  // By piece: the bytes of a map, which kPack or kRead produces for the next piece.
  std::vector<std::vector<uint8_t>> bytes_;
  Trace trace_;  // the launches so far
};

// Writes the program to the memory of a new device.
Status LoadProgram(const ProgramParts& program, Device* device);

// Runs the batch's only image. Its inputs may have other shapes of as many elements. Error: an
// input of another type or with another number of elements.
Status RunImage(const ProgramParts& program, const Batch& batch, NetworkRun* run);

// Returns the transfer of a piece that packs, writes, reads or unpacks a map.
const Transfer& TransferOf(const ProgramParts& program, const Piece& piece);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_RUN_NETWORK_RUN_H_

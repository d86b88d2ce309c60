// The class that implements Lower (lower.h). Its members are defined in lower.cc, lower_sums.cc and
// lower_quotients.cc.
#ifndef KILN_TARGETS_CGRA_COMPILE_LOWERING_H_
#define KILN_TARGETS_CGRA_COMPILE_LOWERING_H_

#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/targets/cgra/compile/elements.h"
#include "kiln/targets/cgra/compile/lower.h"
#include "kiln/targets/cgra/compile/sums.h"
#include "kiln/targets/lower/partition.h"

namespace kiln::cgra {

// The nodes that become one kernel.
struct Group : NodeGroup {
  const Value* result = nullptr;
  std::vector<const Value*> bias;                         // constants that are added to sums
  double low = -std::numeric_limits<double>::infinity();  // bounds of a clamp that follows
  double high = std::numeric_limits<double>::infinity();
};

// The element of a tensor that a copy reads or writes as its number e: text and function.
struct CopyIndex {
  std::string text;
  std::function<int64_t(int64_t e)> of;
};

class Lowering {
 public:
  Lowering(const Graph& graph, const Config& config, const CompileOptions& options);
  StatusOr<LoweredNetwork> Run();

 private:
  std::vector<Pattern<Group>> Patterns();

  // Planning.
  void FollowBias(Group* group);
  void FollowClamp(Group* group);
  void FollowElements(Group* group);

  // Emission. Each adds a kernel or refuses.
  Status Emit(const Group& group, Status (Lowering::*emitter)(const Group&));
  bool EmitView(const Node& node);
  Status EmitConvolution(const Group& group);
  Status EmitProduct(const Group& group);
  Status EmitPool(const Group& group);
  Status EmitReduction(const Group& group);
  Status EmitSoftmax(const Group& group);
  Status EmitQuotient(const Group& group);
  Status EmitElements(const Group& group);
  Status EmitConcat(const Group& group);
  Status EmitPad(const Group& group);
  Status EmitGather(const Group& group);
  void EmitHost(const Group& group, const std::string& reason);

  // The sums of a kernel and what they become.
  Status FinishProducts(const Group& group, const SumOfProducts& problem, Requantisation how,
                        MachineKernel kernel, std::string operation);
  Status FinishReduction(const Group& group, const Reduction& problem, Requantisation how,
                         MachineKernel kernel, std::string operation);
  Status FinishSums(const Group& group, Requantisation how, Launch launch, MachineKernel kernel,
                    const std::string& schedule, std::string operation, double least_cycles);
  // Adds a launch that copies `count` elements of an operand to a result, from code to code.
  Status AddCopy(const Value& operand, const Value& result, int64_t count, const CopyIndex& from,
                 const CopyIndex& to, MachineKernel* kernel);
  static std::string MappingsText(const MachineKernel& kernel);
  void AddKernel(const Group& group, MachineKernel kernel, std::string_view unit,
                 std::string operation, std::string schedule, double least_cycles);
  // Adds the codes of a value as a buffer and returns its number.
  int AddValue(const Value& value, MachineKernel* kernel) const;

  const Graph& graph_;
  const Config& config_;
  const CompileOptions& options_;
  LoweredNetwork out_;
  Partition<Group> partition_;
};

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_COMPILE_LOWERING_H_

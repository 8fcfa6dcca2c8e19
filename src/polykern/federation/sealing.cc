#include "polykern/federation/sealing.h"

namespace polykern {
namespace {

class Plain final : public Sealing {
 public:
  const Updates& Seal(const ModelShape&, const Updates& learnt, Updates&) const override {
    return learnt;
  }
};

}  // namespace

const Sealing& PlainSealing() {
  static const Plain plain;
  return plain;
}

}  // namespace polykern

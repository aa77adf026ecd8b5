#include "submix/apps/serving/mechanism_flags.h"

namespace submix::apps {

base::Status MechanismFlags::Apply(mechanism::MechanismOptions& options) const {
  SUBMIX_ASSIGN_OR_RETURN(options.accounting, mechanism::ParseChargeAccounting(accounting));
  options.sampling_probability = values.sampling_probability;
  options.ball_radius = values.ball_radius;
  options.screen = values.screen;
  options.clip.stretch = clip_stretch.value_or(options.clip.stretch);
  options.clip.centre = clip_centre.value_or(options.clip.centre);
  options.screened_mechanism = values.screened_mechanism;
  return base::OkStatus();
}

void AddMechanismFlags(Flags flags, MechanismFlags& mechanism) {
  flags.Add("--accounting", mechanism.accounting,
            "How charges are counted: default, published, leave-one-out, worst-case");
  flags.Add(
      "--sampling-probability", mechanism.values.sampling_probability,
      "pmixed, adapmixed (published): the chance of each part to be in the subset that answers");
  flags.Add("--clip-stretch", mechanism.clip_stretch,
            "dclip, filtered-dclip: log ratios of members to the public model are multiplied by "
            "this before they are clipped; costs nothing");
  flags.Add("--clip-centre", mechanism.clip_centre,
            "dclip, filtered-dclip: the window for log ratios runs from -(1 - c) C to (1 + c) C; "
            "costs nothing");
  flags.Add(
      "--ball-radius", mechanism.values.ball_radius,
      "adapmixed, pmixed (leave-one-out): radius of the ball around the public model, in nats");
  flags.Add("--screened-mechanism", mechanism.values.screened_mechanism,
            "screened: what stands behind the screen, filtered-submix or dclip");
  mechanism::ScreenOptions& screen = mechanism.values.screen;
  flags.Add("--screen-noise", screen.noise_scale,
            "adapmixed, screened: standard deviation of the noise on each probability");
  flags.Add(
      "--screen-threshold", screen.threshold,
      "screened: the public model answers up to this divergence in nats; adapmixed: above it");
  flags.Add("--screen-weight", screen.mixing_weight,
            "adapmixed, screened: the ensemble's weight in what is compared");
  flags.Add("--screen-tokens", screen.top_tokens,
            "adapmixed, screened: how many of the likeliest public tokens are compared");
}

}  // namespace submix::apps

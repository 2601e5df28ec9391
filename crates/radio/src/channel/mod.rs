#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct ChannelParams { pub snr: f64 }
impl ChannelParams { pub fn validate(&self) -> Result<(), String> { Ok(()) } }
pub struct Channel(pub f64);
impl Channel { pub fn snr_db(&mut self, _now: u64) -> f64 { self.0 } }

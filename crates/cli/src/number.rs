//! Numbers as people write them on a command line.

/// Smaller steps than this are a slip of the keyboard: a nanosecond.
const SMALLEST_STEP: f64 = 1e-9;
/// Larger steps than this are, too.
const LARGEST_STEP: f64 = 10.0;
/// Rounding allows no tighter tolerance.
const TIGHTEST: f64 = 1e-12;
/// About thirty years.
const LONGEST: f64 = 1e9;
/// More steps than anybody waits for.
const MOST_STEPS: f64 = 1e9;

/// A finite number, or a fraction of two: `0.01`, `1e-3`, `1/60`.
pub fn quantity(text: &str) -> Result<f64, String> {
    let plain = |part: &str| match part.trim().parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        Ok(_) => Err(format!("`{}` is not a finite number", part.trim())),
        Err(_) => Err(format!("`{}` is not a number; write 0.01, 1e-3 or 1/60", part.trim())),
    };
    let value = match text.split_once('/') {
        None => plain(text)?,
        Some((above, below)) => plain(above)? / plain(below)?,
    };
    match value.is_finite() {
        true => Ok(value),
        false => Err(format!("`{text}` is not a finite number")),
    }
}

/// A step size in seconds.
pub fn time_step(text: &str) -> Result<f64, String> {
    quantity(text).and_then(valid_step)
}

/// Checks a step size in seconds.
pub fn valid_step(dt: f64) -> Result<f64, String> {
    match dt {
        dt if dt.is_nan() || dt <= 0.0 => Err(format!("a step of {dt} s does not move time forward")),
        dt if dt < SMALLEST_STEP => Err(format!("a step of {dt:e} s is below the smallest, {SMALLEST_STEP:e} s")),
        dt if dt > LARGEST_STEP => Err(format!("a step of {dt} s is above the largest, {LARGEST_STEP} s")),
        dt => Ok(dt),
    }
}

/// A time to simulate, in seconds.
pub fn duration(text: &str) -> Result<f64, String> {
    quantity(text).and_then(valid_duration)
}

/// Checks a time to simulate, in seconds.
pub fn valid_duration(duration: f64) -> Result<f64, String> {
    match duration {
        duration if duration.is_nan() || duration <= 0.0 => {
            Err(format!("a duration of {duration} s is no time to simulate"))
        }
        duration if duration > LONGEST => {
            Err(format!("a duration of {duration:e} s is above the longest, {LONGEST:e} s"))
        }
        duration => Ok(duration),
    }
}

/// A moment of a simulation, in seconds.
pub fn moment(text: &str) -> Result<f64, String> {
    match quantity(text)? {
        time if time < 0.0 => Err(format!("{time} s is before the start, which is at 0 s")),
        time if time > LONGEST => Err(format!("{time:e} s is later than the latest, {LONGEST:e} s")),
        time => Ok(time),
    }
}

/// How many steps of `dt` make up `duration`: the last one may reach a little beyond.
pub fn step_count(dt: f64, duration: f64) -> Result<u64, String> {
    let exact = duration / dt;
    // 10 s are 600 steps of 1/60 s although 10 / (1/60) is not quite 600.
    let whole = if (exact - exact.round()).abs() < 1e-6 * exact.max(1.0) { exact.round() } else { exact.ceil() };
    match whole {
        whole if whole < 1.0 || duration < 0.999 * dt => {
            Err(format!("a duration of {duration} s is shorter than one step of {dt} s"))
        }
        whole if whole > MOST_STEPS => {
            Err(format!("{duration} s in steps of {dt:e} s are {whole:.1e} steps, more than {MOST_STEPS:e}"))
        }
        whole => Ok(whole as u64),
    }
}

/// A tolerance, m and rad.
pub fn tolerance(text: &str) -> Result<f64, String> {
    match quantity(text)? {
        value if (TIGHTEST..1.0).contains(&value) => Ok(value),
        value => Err(format!("a tolerance lies between {TIGHTEST:e} and 1, not at {value}")),
    }
}

/// Frames per second.
pub fn frame_rate(text: &str) -> Result<f64, String> {
    match quantity(text)? {
        value if (0.01..=1e4).contains(&value) => Ok(value),
        value => Err(format!("a frame rate lies between 0.01 and 10000, not at {value}")),
    }
}

/// `key=value`.
pub fn setting(text: &str) -> Result<(String, f64), String> {
    let (key, value) = text.split_once('=').ok_or("write key=value")?;
    let key = key.trim();
    if key.is_empty() {
        return Err("the key is missing; write key=value".to_owned());
    }
    let value = match value.trim() {
        "true" | "on" | "yes" => 1.0,
        "false" | "off" | "no" => 0.0,
        number => quantity(number)?,
    };
    Ok((key.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_numbers() {
        assert_eq!(quantity("1/60"), Ok(1.0 / 60.0));
        assert_eq!(quantity(" 1 / 30 "), Ok(1.0 / 30.0));
        assert_eq!(quantity("0.25"), Ok(0.25));
        assert_eq!(quantity("1e-3"), Ok(1e-3));
        assert_eq!(quantity("-2/4"), Ok(-0.5));
        for text in ["", "/", "1/", "/60", "1/0", "0/0", "1/2/3", "nan", "inf", "1e999", "1,5", "1/60s", "١"] {
            assert!(quantity(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_are_positive_and_sensible() {
        assert_eq!(time_step("1/60"), Ok(1.0 / 60.0));
        for text in ["0", "-1", "-1/60", "-0.0", "nan", "1e-12", "11", "1e300"] {
            assert!(time_step(text).is_err(), "{text}");
        }
        for text in ["0", "-1", "nan", "inf", "1e10"] {
            assert!(duration(text).is_err(), "{text}");
        }
        for text in ["0", "1", "-1e-6", "nan"] {
            assert!(tolerance(text).is_err(), "{text}");
        }
    }

    #[test]
    fn steps_fill_the_duration() {
        for (dt, duration, expected) in [
            (1.0 / 60.0, 10.0, 600),
            (1.0 / 30.0, 10.0, 300),
            (0.1, 1.0, 10),
            (0.3, 1.0, 4),
            (0.03, 10.0, 334),
            (1.0, 1.0, 1),
            (1e-3, 1e6, 1_000_000_000),
        ] {
            assert_eq!(step_count(dt, duration), Ok(expected), "{duration} / {dt}");
        }
        assert!(step_count(1.0, 0.5).is_err());
        assert!(step_count(1e-9, 1e9).is_err());
    }

    #[test]
    fn settings_are_key_and_value() {
        assert_eq!(setting("bodies=127"), Ok(("bodies".to_owned(), 127.0)));
        assert_eq!(setting(" mass = 1e6 "), Ok(("mass".to_owned(), 1e6)));
        assert_eq!(setting("drop=true"), Ok(("drop".to_owned(), 1.0)));
        for text in ["bodies", "=1", "bodies=", "bodies=many", "a=b=c", "bodies=nan"] {
            assert!(setting(text).is_err(), "{text}");
        }
    }
}

//! What the blocks of a recording are written with: columns of 16-bit numbers, and bytes that may end too early.

/// Writes the differences from one number to the next, modulo 2¹⁶ and beginning at 0: all low bytes, then all high bytes.
pub(super) fn column(bytes: &mut Vec<u8>, words: impl Iterator<Item = u16> + Clone) {
    let differences = words.scan(0u16, |last, word| {
        let difference = word.wrapping_sub(*last);
        *last = word;
        Some(difference)
    });
    bytes.extend(differences.clone().map(|word| word as u8));
    bytes.extend(differences.map(|word| (word >> 8) as u8));
}

/// What is left of a block.
pub(super) struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let (head, tail) = self.0.split_at_checked(count).ok_or("a block of frames ends too early")?;
        self.0 = tail;
        Ok(head)
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub fn column(&mut self, count: usize) -> Result<Vec<u16>, String> {
        let (low, high) = (self.take(count)?, self.take(count)?);
        let mut word = 0u16;
        let sum = |(&low, &high): (&u8, &u8)| {
            word = word.wrapping_add(u16::from_le_bytes([low, high]));
            word
        };
        Ok(low.iter().zip(high).map(sum).collect())
    }

    /// Nothing may be left.
    pub fn end(&self) -> Result<(), String> {
        match self.0.len() {
            0 => Ok(()),
            left => Err(format!("{left} bytes too many in a block")),
        }
    }
}
